#!/bin/sh
# The first process of a Machine (tests/support/machine.py): builds its root file system, then becomes its systemd.
#
#   machine.sh SCRATCH SYSTEMD [SOURCE TARGET]...     the folder SOURCE of this host is TARGET there, read-only
#
# Runs in namespaces of its own, the cgroup's among them. The root is an overlay of this host's whose changes are kept
# in memory; nothing of what is mounted or written from here on can be seen outside, and all of it goes with the last
# process.
set -eu
scratch=$1 systemd=$2
shift 2

mount -t tmpfs -o mode=755 tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
root=$scratch/root
mount -t overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" overlay "$root"

while [ $# -gt 0 ]; do
  mkdir -p "$root$2"
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
  shift 2
done

# Read-only, so that neither udev nor sysctl finds anything of the host's kernel to set.
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
# Version 2, also where the host has its controllers in version 1: systemd needs no controller to know its processes.
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"

mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in "null 3" "zero 5" "full 7" "random 8" "urandom 9"; do
  mknod -m 666 "$root/dev/${device% *}" c 1 "${device#* }"
done
mknod -m 666 "$root/dev/tty" c 5 0
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"

# Without these systemd-tmpfiles would clean the host's, and units that this host has enabled would start.
for folder in run var/log etc/systemd/system; do
  mount -t tmpfs -o mode=755 tmpfs "$root/$folder"
done
for folder in tmp var/tmp dev/shm; do
  mount -t tmpfs -o mode=1777 tmpfs "$root/$folder"
done
# An oncue that is installed on this host is none of the machine's.
rm -rf "$root/etc/oncue" "$root/var/lib/oncue" "$root/opt/oncue"
# An identity of its own, and none of the host's disks to wait for.
for file in machine-id fstab crypttab; do
  : >"$root/etc/$file"
done

cd "$root"
pivot_root . .
umount -l .
cd /
# As systemd would have it where it is in no container: a unit's credentials are mounted by a child, and shared with it.
mount --make-rshared /
echo "the root is built"
# The host's clock and modules are out of reach even for the machine's root.
exec env -i container=oncue-test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  setpriv --bounding-set=-sys_time,-sys_module \
  "$systemd" --system --unit=basic.target --log-target=journal --show-status=no
