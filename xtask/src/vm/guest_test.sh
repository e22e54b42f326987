# Run in a guest of each kernel by guest_tests.rs: whether what iotrace's own
# tests build on works there. Stops at the first thing that does not.
set -eux

# Devices come some time after the command that makes them.
wait_for() {
    for _ in $(seq 100); do
        [ -e "$1" ] && return
        sleep 0.1
    done
    echo "no $1" >&2
    exit 1
}

uname -r

# Nine disks with a store of their own each, in a RAID6.
modprobe scsi_debug dev_size_mb=64 physblk_exp=3 sector_size=512 per_host_store=1
echo 8 >/sys/bus/pseudo/drivers/scsi_debug/add_host
wait_for /sys/block/sdi/queue/physical_block_size
test "$(cat /sys/block/sdi/queue/physical_block_size)" = 4096
mdadm --create /dev/md127 --run --assume-clean --level=6 --chunk=64 \
    --raid-devices=9 --bitmap=internal /dev/sd[a-i]
test "$(cat /sys/block/md127/md/level)" = raid6

# A write of one block: md says how it read what it lacked.
blktrace -d /dev/md127 -o - >/tmp/trace &
tracer=$!
wait_for /sys/kernel/debug/block/md127/trace0
sleep 1
dd if=/dev/zero of=/dev/md127 bs=4k count=1 seek=2000 oflag=direct
dd if=/dev/zero of=/dev/md127 bs=64k count=6 seek=2002 oflag=direct
dd if=/dev/zero of=/dev/md127 bs=384k count=2 seek=100 oflag=direct
sleep 1
kill -INT "$tracer"
wait "$tracer" || true
# In the trace itself: blkparse drops these messages before its version 1.3.
grep -a -o -E 'raid5 (rmw|rcw) [0-9]+' /tmp/trace
blkparse -i - </tmp/trace | grep -E ' Q +WS 16000 \+ 8 \[dd\]'

# A linear target as LVM lays it out, a file system on it, fio in that.
sectors=$(($(blockdev --getsz /dev/md127) - 8192))
echo "0 $sectors linear /dev/md127 2048" | dmsetup create lv
mkfs.xfs -q -f /dev/mapper/lv
mount -t xfs /dev/mapper/lv /mnt
fio --name=smoke --directory=/mnt --rw=randwrite --bs=4k --size=4m --direct=1 \
    --ioengine=psync --minimal >/tmp/fio
umount /mnt
dmsetup remove lv

# LUKS of both versions, on a loop device and on the array.
truncate -s 64M /tmp/disk
loop=$(losetup --find --show /tmp/disk)
for device in "$loop" /dev/md127; do
    for version in luks1 luks2; do
        printf secret | cryptsetup luksFormat --batch-mode --type "$version" \
            --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$device" -
        printf secret | cryptsetup open --key-file - "$device" crypt
        dd if=/dev/zero of=/dev/mapper/crypt bs=4k count=8 oflag=direct
        cryptsetup close crypt
    done
done

# The other kinds of device.
mdadm --stop /dev/md127
for level in 0 1 10; do
    mdadm --zero-superblock /dev/sd[a-d]
    mdadm --create /dev/md126 --run --assume-clean --level="$level" \
        --raid-devices=4 /dev/sd[a-d]
    mdadm --stop /dev/md126
done
modprobe null_blk nr_devices=1 gb=1 memory_backed=1
dd if=/dev/zero of=/dev/nullb0 bs=4k count=8 oflag=direct
mkdir /sys/kernel/config/nullb/more
cat /sys/class/zram-control/hot_add
mkfs.ext4 -q -F /dev/nullb0
blkdiscard "$loop"
echo size=2048 | sfdisk --quiet --wipe never "$loop"
partitioned=$(losetup --find --show --partscan /tmp/disk)
wait_for "${partitioned}p1"

# What tracing needs.
test -d /sys/kernel/tracing/events/block/block_rq_issue
test -r /sys/kernel/btf/vmlinux
test -f /sys/fs/cgroup/cgroup.procs
setpriv --reuid=nobody --regid=nogroup --clear-groups id

# Output is where a shell expects it.
echo standard >/dev/stdout
echo errors >/dev/stderr
exit 7
