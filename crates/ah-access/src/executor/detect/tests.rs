use std::os::unix::fs::symlink;

use ah_model::Gpu;

use super::*;

/// A tree of files that a machine might show.
struct Tree(tempfile::TempDir);

impl Tree {
    fn of(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, text)| tree.write(path, text));
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, to: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    fn detector(&self) -> Detector {
        let (root, bin) = (self.0.path().to_owned(), self.0.path().join("bin"));
        Detector { storage: root.clone(), root, search: vec![bin] }
    }
}

const STATUS: (&str, &str) = ("proc/self/status", "Name:\tah\nCpus_allowed_list:\t0-5,8,10-11\n");
const MEMORY: (&str, &str) =
    ("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable:    1024 kB\n");

#[test]
fn a_machine_without_control_groups_is_offered_whole() {
    let os = ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Some Linux 1.2\"\n");
    let tree = Tree::of(&[STATUS, MEMORY, os, ("bin/claude", ""), ("bin/docker", "")]);
    let machine = tree.detector().machine();
    assert!(machine.storage_bytes > 0);
    let wanted = Machine {
        os_name: std::env::consts::OS.to_owned(),
        os_version: "Some Linux 1.2".to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        cpu_cores: 9,
        memory_bytes: 2048 * 1024,
        storage_bytes: machine.storage_bytes,
        runtimes: vec!["bare".to_owned(), "docker".to_owned()],
        agents: vec!["claude".to_owned()],
        ..Machine::default()
    };
    assert_eq!(machine, wanted);
}

#[test]
fn limits_of_control_groups_count_wherever_they_are_set() {
    let group = ("proc/self/cgroup", "0::/a/b\n");
    for (limit, cores, memory) in [
        (("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"), 2, 2048),
        (("sys/fs/cgroup/a/cpu.max", "50000 100000\n"), 1, 2048),
        (("sys/fs/cgroup/cpu.max", "max 100000\n"), 9, 2048),
        (("sys/fs/cgroup/a/memory.max", "1048576\n"), 9, 1024),
        (("sys/fs/cgroup/a/b/memory.max", "max\n"), 9, 2048),
        (("sys/fs/cgroup/unified/a/memory.max", "1024\n"), 9, 1),
        (("sys/fs/cgroup/other/memory.max", "1024\n"), 9, 2048),
    ] {
        let machine = Tree::of(&[STATUS, MEMORY, group, limit]).detector().machine();
        let found = (machine.cpu_cores, machine.memory_bytes / 1024);
        assert_eq!(found, (cores, memory), "{limit:?}");
    }
}

#[test]
fn limits_of_the_first_version_of_control_groups_count_as_well() {
    let groups = ("proc/self/cgroup", "4:memory:/m\n2:cpu,cpuacct:/c\n1:name=systemd:/\n0::/\n");
    let tree = Tree::of(&[STATUS, MEMORY, groups]);
    tree.write("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
    tree.write("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
    tree.write("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
    let machine = tree.detector().machine();
    assert_eq!((machine.cpu_cores, machine.memory_bytes), (9, 2048 * 1024));
    tree.write("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "400000\n");
    tree.write("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1000\n");
    tree.write("sys/fs/cgroup/memory/m/memory.usage_in_bytes", "400\n");
    let machine = tree.detector().machine();
    assert_eq!((machine.cpu_cores, machine.memory_bytes), (4, 1000));
    assert_eq!(Meter::new(tree.detector()).load().memory_free_bytes, Some(600));
}

#[test]
fn what_is_not_shown_or_not_understood_is_left_out() {
    let odd = Tree::of(&[
        ("proc/self/status", "Cpus_allowed_list:\t5-2\n"),
        ("proc/meminfo", "MemTotal: many kB\n"),
        ("proc/self/cgroup", "nonsense\n0::\n::::\n"),
        ("proc/stat", "cpu  1 2\n"),
        ("sys/fs/cgroup/cpu.max", "100000 0\n"),
        ("sys/class/drm/card0/device/vendor", "\n"),
        ("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model\n"),
    ]);
    for tree in [odd, Tree::of(&[])] {
        let machine = tree.detector().machine();
        assert!(machine.cpu_cores >= 1 && !machine.os_version.is_empty());
        assert_eq!((machine.memory_bytes, machine.gpus.len(), machine.agents.len()), (0, 0, 0));
        let mut meter = Meter::new(tree.detector());
        let _first = meter.load();
        assert_eq!((meter.load().cpu, meter.load().memory_free_bytes), (None, None));
    }
}

#[test]
fn graphics_processors_are_found_once_each() {
    let tree = Tree::of(&[
        ("sys/devices/0000:03:00.0/vendor", "0x1002\n"),
        ("sys/devices/0000:03:00.0/device", "0x744c\n"),
        ("sys/devices/0000:03:00.0/mem_info_vram_total", "25753026560\n"),
        ("sys/devices/0000:01:00.0/vendor", "0x10de\n"),
        ("sys/devices/0000:01:00.0/device", "0x2684\n"),
        ("sys/devices/0000:05:00.0/vendor", "0xabcd\n"),
        ("sys/devices/0000:05:00.0/product_name", "Fast One\n"),
        ("sys/module/nvidia/version", "570.1\n"),
        (
            "proc/driver/nvidia/gpus/0000:01:00.0/information",
            "Model: \t\t NVIDIA GeForce RTX 4090\nIRQ: 1\n",
        ),
        ("sys/class/drm/card0-HDMI-A-1/device/vendor", "0x1002\n"),
        ("sys/class/drm/renderD128/device/vendor", "0x1002\n"),
    ]);
    for (card, bus) in [("card0", "03"), ("card1", "01"), ("card12", "05")] {
        let path = format!("sys/class/drm/{card}/device");
        tree.link(&path, &format!("../../../devices/0000:{bus}:00.0"));
    }
    tree.link("sys/devices/0000:03:00.0/driver", "../../bus/pci/drivers/amdgpu");
    let gpu = |vendor: &str, model: &str, vram_bytes, driver: Option<&str>| Gpu {
        vendor: vendor.to_owned(),
        model: model.to_owned(),
        vram_bytes,
        driver: driver.map(str::to_owned),
    };
    let wanted = [
        gpu("NVIDIA", "NVIDIA GeForce RTX 4090", None, Some("nvidia 570.1")),
        gpu("AMD", "device 0x744c", Some(25_753_026_560), Some("amdgpu")),
        gpu("0xabcd", "Fast One", None, None),
    ];
    assert_eq!(tree.detector().machine().gpus, wanted);
}

#[test]
fn load_is_measured_from_one_look_to_the_next() {
    let tree = Tree::of(&[MEMORY, ("proc/stat", "cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1\n")]);
    let mut meter = Meter::new(tree.detector());
    let first = meter.load();
    assert_eq!((first.cpu, first.memory_free_bytes), (None, Some(1024 * 1024)));
    assert!(first.storage_free_bytes.is_some());
    tree.write("proc/stat", "cpu  150 0 125 720 105 0 0 0 90 0\n");
    assert_eq!(meter.load().cpu, Some(0.75));
    assert_eq!(meter.load().cpu, None);
}

#[test]
fn this_machine_is_something() {
    let detector = Detector { root: "/".into(), search: vec!["/bin".into()], storage: "/".into() };
    let machine = detector.machine();
    let cores = u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap();
    assert_eq!(machine.cpu_cores, cores);
    assert!(machine.memory_bytes > 1024 * 1024 && machine.storage_bytes > 1024 * 1024);
    let load = Meter::new(detector).load();
    assert!(load.memory_free_bytes.unwrap() < machine.memory_bytes);
    assert!(load.storage_free_bytes.unwrap() <= machine.storage_bytes);
}
