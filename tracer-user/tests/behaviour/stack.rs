//! `iotrace stack` against what the layers' own tools say of them.

use serde_json::Value;

use crate::harness::{
    device::Device,
    lab::{Lab, Needs, load},
    loopdev::Loop,
    lvm,
    md::Array,
    partition::Partition,
    process::{run, run_from},
    scsi_debug::ScsiDebug,
};

mod printed;

use printed::{Stack, as_lsblk_says, offset, print, stack, told};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// In a partition that begins at sector 63 of a disk of 4 KiB blocks.
#[test]
fn ext4_in_a_partition() {
    let name = "ext4_in_a_partition";
    let needs = ["mkfs.ext4", "dumpe2fs", "sfdisk", "lsblk"].map(Needs::Program);
    let Some(lab) = Lab::open(name, &needs) else {
        return;
    };
    let file = Loop::new(&lab, 64 * MIB);
    let disk = file.device();
    let table = lab.path("table");
    std::fs::write(&table, "label: dos\nstart=63,size=65537,type=fd\n").expect("a table");
    let quiet = ["-q", "--no-reread", "--no-tell-kernel", &disk.node_text()];
    run_from("sfdisk", &quiet, &table);
    let partition = Partition::create(&disk, 63, 65_537);
    let node = partition.node_text();
    let extended = "stride=16,stripe_width=112";
    run(
        "mkfs.ext4",
        &["-q", "-F", "-b", "4096", "-E", extended, &node],
    );
    let stack = stack(&disk);
    as_lsblk_says(&stack, &[&disk, &partition]);

    let row = stack.device(&partition);
    assert_eq!(row["partition"]["start_sectors"], 63);
    assert_eq!(
        (&row["partition"]["table"], &row["partition"]["type"]),
        (&"mbr".into(), &"fd".into())
    );
    assert_eq!(offset(row, &disk, "physical_block"), 63 * 512 % 512);
    let spec = format!("{}=physical:4k", disk.name());
    let args = [
        "--dev",
        disk.name(),
        "--format",
        "json",
        "--geometry",
        &spec,
    ];
    let told_4096 = Stack::of(&args);
    let row = told_4096.device(&partition);
    assert_eq!(offset(row, &disk, "physical_block"), 63 * 512 % 4096);

    let said = run("dumpe2fs", &["-h", &node]);
    let ext = stack.content(&partition, "ext");
    let block = told(&said, "Block size:");
    assert_eq!(ext["kind"], "ext4");
    assert_eq!(ext["block_bytes"], block);
    assert_eq!(ext["stride_bytes"], told(&said, "RAID stride:") * block);
    assert_eq!(
        ext["stripe_width_bytes"],
        told(&said, "RAID stripe width:") * block
    );
    assert_eq!(ext["journal"], "internal");
}

#[test]
fn xfs_as_its_own_tool_reads_it() {
    let name = "xfs_as_its_own_tool_reads_it";
    let needs = ["mkfs.xfs", "xfs_db", "lsblk"].map(Needs::Program);
    let Some(lab) = Lab::open(name, &needs) else {
        return;
    };
    let file = Loop::new(&lab, 2048 * MIB);
    let disk = file.device();
    let node = disk.node_text();
    let made = ["-q", "-f", "-d", "su=64k,sw=7", "-l", "su=64k", &node];
    run("mkfs.xfs", &made);
    let spec = format!("{}=chunk:64k,data:7", disk.name());
    let args = [
        "--dev",
        disk.name(),
        "--format",
        "json",
        "--geometry",
        &spec,
    ];
    let stack = Stack::of(&args);
    as_lsblk_says(&stack, &[&disk]);
    // What xfs_info runs.
    let said = run("xfs_db", &["-r", "-c", "info", &node]);
    let section = |name: &str| {
        let begin = said
            .find(name)
            .unwrap_or_else(|| panic!("no {name}: {said}"));
        said[begin..].replace([',', '\n'], "\n").replace(' ', "\n")
    };
    let (data, log) = (section("data "), section("log "));
    let xfs = stack.content(&disk, "xfs");
    let block = told(&data, "bsize=");
    assert_eq!(xfs["block_bytes"], block);
    assert_eq!(xfs["stripe_unit_bytes"], told(&data, "sunit=") * block);
    assert_eq!(xfs["stripe_width_bytes"], told(&data, "swidth=") * block);
    assert_eq!(xfs["log_stripe_unit_bytes"], told(&log, "sunit=") * block);
    let whole = said.replace([',', ' '], "\n");
    assert_eq!(xfs["group_count"], told(&whole, "agcount="));
    let group = told(&whole, "agsize=") * block;
    assert_eq!(xfs["group_bytes"], group);
    let steps = xfs["group_step_bytes"].as_array().expect("steps");
    let places = xfs["against"].as_array().expect("places");
    let stripe = places.iter().position(|one| one["boundary"] == "stripe");
    assert_eq!(steps[stripe.expect("a stripe")], group % (448 * KIB));
}

/// Partition, md, LVM, LUKS, ext4: each as its own tool says.
#[test]
#[ignore = "needs md, dm and scsi_debug: run in a guest"]
fn every_layer_as_its_own_tool_says() {
    let name = "every_layer_as_its_own_tool_says";
    let needs = ["lvm", "cryptsetup", "mkfs.ext4", "dumpe2fs", "lsblk"].map(Needs::Program);
    let Some(lab) = Lab::open(name, &needs) else {
        return;
    };
    load("dm-mod");
    let module = ScsiDebug::load(&["dev_size_mb=64", "sector_size=512", "physblk_exp=3"]);
    module.add(4);
    let disks = module.disks();
    let mut parts: Vec<Partition> = disks
        .iter()
        .map(|disk| Partition::create(disk, 2048, 122_880))
        .collect();
    // One of them as it was done for twenty years.
    parts.remove(4);
    parts.push(Partition::create(&disks[4], 63, 122_880));
    let members: Vec<Device> = parts.iter().map(|part| (**part).clone()).collect();
    let more = ["--bitmap=internal", "--bitmap-chunk=1M"];
    let array = Array::create_with("md7", "6", "64", &members, &more);
    let md = array.device();
    let group = lvm::Group::create("iotrace", &md);
    let (plain, secret) = (group.volume("plain", 64), group.volume("secret", 48));
    run("mkfs.ext4", &["-q", "-F", "-b", "4096", &plain.node_text()]);
    let key = lab.path("key");
    std::fs::write(&key, "0123456789").expect("a key file");
    let key = key.display().to_string();
    let node = secret.node_text();
    let cheap = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"];
    let format = ["luksFormat", "-q", "--type", "luks2", &node, &key];
    run("cryptsetup", &[&format[..], &cheap].concat());

    let stack = stack(&md);
    let all: Vec<&Device> = disks
        .iter()
        .chain(&members)
        .chain([&md, &plain, &secret])
        .collect();
    as_lsblk_says(&stack, &all);
    an_array_as_mdadm_says(&stack, &md, &members);
    let stripe = 3 * 64 * KIB;

    let said = lvm::lvm(&[
        "pvs",
        "--noheadings",
        "--nosuffix",
        "--units",
        "b",
        "-o",
        "pe_start",
        &md.node_text(),
    ]);
    let pe_start: u64 = said.trim().parse().expect("bytes");
    let pv = stack.content(&md, "lvm_pv");
    assert_eq!(
        (&pv["pe_start_bytes"], &pv["group"]),
        (&pe_start.into(), &"iotrace".into())
    );
    assert_eq!(offset(pv, &md, "stripe"), pe_start % stripe);
    // LVM begins where the array's alignment offset wants it, which kernels make
    // differently of members that disagree.
    for (slot, start) in [(0, 2048), (4, 63)] {
        let part = &stack.device(&md)["md"]["components"][slot];
        let data = part["data_offset_sectors"].as_u64().expect("as mdadm says");
        let on_disk = (start + data) * 512 + pe_start;
        assert_eq!(offset(pv, &disks[slot], "physical_block"), on_disk % 4096);
    }

    for volume in [&plain, &secret] {
        let row = stack.device(volume);
        let table = run(
            "dmsetup",
            &["table", row["dm_name"].as_str().expect("a name")],
        );
        let start: u64 = table
            .split_whitespace()
            .last()
            .expect("a start")
            .parse()
            .expect("a number");
        let place = &row["targets"][0]["lies_on"][0];
        assert_eq!(place["start_sectors"], start, "{table}");
        assert_eq!(offset(row, &md, "stripe"), start * 512 % stripe);
        assert_eq!(offset(row, &md, "chunk"), start * 512 % (64 * KIB));
    }

    let said = run("cryptsetup", &["luksDump", &node]);
    let payload = told(&said, "offset:");
    let luks = stack.content(&secret, "luks");
    assert_eq!(luks["payload_offset_bytes"], payload);
    assert_eq!(luks["sector_bytes"], told(&said, "sector:"));
    let begin = offset(stack.device(&secret), &md, "stripe");
    assert_eq!(offset(luks, &md, "stripe"), (begin + payload) % stripe);

    let said = run("dumpe2fs", &["-h", &plain.node_text()]);
    let ext = stack.content(&plain, "ext");
    assert_eq!(ext["stride_bytes"], told(&said, "RAID stride:") * 4096);
    assert_eq!(
        ext["stripe_width_bytes"],
        told(&said, "RAID stripe width:") * 4096
    );

    elsewhere_it_is_the_same(&lab);
    a_suspended_volume_is_not_waited_for(&plain);
}

fn an_array_as_mdadm_says(stack: &Stack, md: &Device, members: &[Device]) {
    let detail = run("mdadm", &["--detail", &md.node_text()]);
    let row = &stack.device(md)["md"];
    let has = |text: String| assert!(detail.contains(&text), "no {text:?} in {detail}");
    has(format!(
        "Raid Level : {}",
        row["level"].as_str().expect("a level")
    ));
    has(format!(
        "Version : {}",
        row["metadata_version"].as_str().expect("a version")
    ));
    assert_eq!(row["raid_disks"], told(&detail, "Raid Devices"));
    assert_eq!(row["chunk_bytes"], told(&detail, "Chunk Size") * KIB);
    assert_eq!(row["layout"], 2, "left-symmetric");
    has("Layout : left-symmetric".to_owned());
    assert_eq!(stack.device(md)["stripe_bytes"], 3 * 64 * KIB);
    assert_eq!(row["bitmap"]["chunk_bytes"], MIB);
    for (slot, member) in (0u64..).zip(members) {
        let node = member.node_text();
        let examined = run("mdadm", &["--examine", &node]);
        let ours = stack.content(member, "md_member");
        assert_eq!(
            ours["data_offset_sectors"],
            told(&examined, "Data Offset"),
            "{examined}"
        );
        assert_eq!(
            ours["super_offset_sectors"],
            told(&examined, "Super Offset")
        );
        assert_eq!(
            ours["bitmap_offset_sectors"],
            told(&examined, "Internal Bitmap")
        );
        assert_eq!(ours["slot"], slot);
        let bitmap = run("mdadm", &["--examine-bitmap", &node]);
        assert_eq!(
            ours["bitmap_chunk_bytes"],
            told(&bitmap, "Chunksize") * MIB,
            "{bitmap}"
        );
        let known = &row["components"][slot as usize];
        assert_eq!(known["data_offset_sectors"], ours["data_offset_sectors"]);
    }
}

/// As text and as JSON, out of a capture.
fn elsewhere_it_is_the_same(lab: &Lab) {
    let file = lab.path("host.tar.gz").display().to_string();
    print(&["--capture", &file]);
    for format in ["plain", "json"] {
        let here = print(&["--format", format]);
        assert_eq!(print(&["--format", format, "--from", &file]), here);
    }
}

/// A read from it would end only when it is resumed.
fn a_suspended_volume_is_not_waited_for(volume: &Device) {
    let name = volume.read("dm/name").expect("a name");
    run("dmsetup", &["suspend", &name]);
    let stack = stack(volume);
    run("dmsetup", &["resume", &name]);
    let row = stack.device(volume);
    assert_eq!(
        (&row["suspended"], &row["contents"]),
        (&true.into(), &Value::Null)
    );
    let why = format!("{} is suspended, a read would wait", volume.name());
    assert_eq!(row["contents_not_read"], why);
}

/// The machine's own storage, and whatever lies in between.
#[test]
fn a_capture_of_this_machine() {
    let Some(lab) = Lab::open("a_capture_of_this_machine", &[]) else {
        return;
    };
    let first = Loop::new(&lab, 8 * MIB);
    let _partition = Partition::create(&first.device(), 100, 1000);
    let _second = Loop::over(&first.device());
    elsewhere_it_is_the_same(&lab);
}
