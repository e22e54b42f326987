# "About 10% reads while I only write to my RAID6": out of nothing but defaults.
set -e

tell() {
    printf '\n# %s\n' "$*"
}

# Shows what iotrace says of the array while this runs.
watched() {
    iotrace --dev md127 --format plain --interval 1h >/tmp/said 2>/tmp/attached &
    tracer=$!
    until grep -q counting /tmp/attached; do
        kill -0 "$tracer" || { cat /tmp/attached; exit 1; }
        sleep 0.2
    done
    printf '$ %s\n' "$*"
    "$@" >/tmp/printed || { cat /tmp/printed; exit 1; }
    # md marks the array clean 0.2 s later.
    until grep -q clean /sys/block/md127/md/array_state; do sleep 0.2; done
    kill -INT "$tracer"
    wait "$tracer"
    # The tree, and what is to be said of the array.
    sed -n '/^DEVICE/,/^$/p; /^md127:/,/^$/p; /^Lost/p' /tmp/said
}

volume() {
    dmsetup remove --noudevsync lv 2>/dev/null || true
    echo "0 $(($(cat /sys/block/md127/size) - 8192)) linear /dev/md127 $1" |
        dmsetup create lv --noudevsync
    dmsetup mknodes
}

modprobe raid456
modprobe dm-mod
modprobe scsi_debug dev_size_mb=64 sector_size=512 physblk_exp=3 per_host_store=1 delay=0
echo 8 >/sys/bus/pseudo/drivers/scsi_debug/add_host
until [ -b /dev/sdi ]; do sleep 0.2; done

tell "A RAID6 of 9 disks with chunks of 64 KiB: 7 data disks, so a stripe is 448 KiB."
mdadm --create /dev/md127 --run --assume-clean --level=6 --chunk=64 --raid-devices=9 \
    --bitmap=internal /dev/sd[a-i] 2>&1 | grep started

tell "A volume on it, from 1 MiB on as LVM places its first, and nothing but writes of 1 MiB:"
volume 2048
watched fio --name=write --filename=/dev/mapper/lv --rw=write --bs=1m --size=200m --direct=1 \
    --ioengine=psync

tell "1 MiB is no multiple of 448 KiB. The volume moved to 1344 KiB, which is 3 stripes,"
tell "and the same 200 MiB written in 2 stripes at a time:"
volume 2688
watched fio --name=write --filename=/dev/mapper/lv --rw=write --bs=896k --size=200704k --direct=1 \
    --ioengine=psync
