#!/usr/bin/env bash
# Boots a systemd on a copy of this machine's files that is thrown away: systemd_boot.sh FOLDER CHECKOUT
#
# To be run by root in namespaces of its own (see systemd_trial.py). Of the machine it shares the
# network; its files are an overlay in memory, its processes and cgroups are apart, and settings of
# the kernel cannot be written. FOLDER is an empty one to mount things at; CHECKOUT is seen at its
# own path, read-only.
set -euo pipefail
folder=$1 checkout=$2
mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
root=$folder/root
mkdir "$folder/upper" "$folder/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$root"

mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=1777 tmpfs "$root/var/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mkdir -p "$root$checkout"
mount --bind "$checkout" "$root$checkout"
mount -o remount,bind,ro "$root$checkout"

# None of the machine's own services, and none that looks after hardware.
rm -rf "$root"/etc/systemd/system/* "$root"/etc/cron.d/*
for unit in systemd-sysctl systemd-modules-load systemd-udevd systemd-udev-trigger \
    systemd-binfmt systemd-hwdb-update systemd-random-seed systemd-update-utmp systemd-pstore \
    systemd-remount-fs systemd-firstboot systemd-machine-id-commit; do
    ln -s /dev/null "$root/etc/systemd/system/$unit.service"
done
for unit in dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount \
    sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount \
    proc-sys-fs-binfmt_misc.automount systemd-udevd-control.socket systemd-udevd-kernel.socket; do
    ln -s /dev/null "$root/etc/systemd/system/$unit"
done

cd "$root"
mkdir old
pivot_root . old
umount -l old
rmdir old
# As a first process finds it: secrets get to units by mounts that spread.
mount --make-rshared /
exec env -i container=errand-trial PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=basic.target --log-target=console --log-level=warning
