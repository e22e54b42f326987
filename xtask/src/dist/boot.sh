# In a guest: boots the Debian of /bin/debian-root.tar beside the guest's own
# root, has its systemd run installed.sh, and ends as that did.
set -e
# An array, whose members' IO has reasons that the service must be able to tell.
members=
for name in a b c; do
    truncate -s 64M "/tmp/$name"
    members="$members $(losetup --find --show "/tmp/$name")"
done
mdadm --create /dev/md0 --run --assume-clean --level=5 --chunk=64 --raid-devices=3 $members
# A volume that begins 96 KiB into a stripe of 128.
echo '0 2048 linear /dev/md0 192' | dmsetup create volume
mkdir /machine
mount -t tmpfs -o mode=755 tmpfs /machine
tar -x -f /bin/debian-root.tar -C /machine
cp /bin/iotrace.deb /bin/installed.sh /machine/
cat >/machine/etc/systemd/system/installed.service <<'UNIT'
[Unit]
Requires=basic.target
After=basic.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/bin/bash /installed.sh
ExecStopPost=/bin/sh -c 'echo $EXIT_STATUS >/status'
StandardOutput=append:/log
StandardError=append:/log
UNIT
# Devices are the guest's.
ln -s /dev/null /machine/etc/systemd/system/systemd-udevd.service
# To power off ends the namespace with a signal.
env -i container=guest unshare -p -f -m \
    chroot /machine /lib/systemd/systemd --system --unit=installed.service || true
cat /machine/log
exit "$(cat /machine/status)"
