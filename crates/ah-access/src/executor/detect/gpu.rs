//! Graphics processors, as the kernel shows them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ah_model::Gpu;

use super::field;

/// Makers by their number on the bus.
const VENDORS: [(&str, &str); 5] = [
    ("0x1002", "AMD"),
    ("0x10de", "NVIDIA"),
    ("0x1a03", "ASPEED"),
    ("0x1af4", "Virtio"),
    ("0x8086", "Intel"),
];

/// All, in the order of their places on the bus. A card of NVIDIA may be shown in two places.
pub(super) fn all(root: &Path) -> Vec<Gpu> {
    let mut found = BTreeMap::new();
    for card in entries(&root.join("sys/class/drm")) {
        let name = card.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.strip_prefix("card").filter(|number| !number.is_empty());
        // Others are its sockets, as `card0-HDMI-A-1`.
        if number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
            found.extend(drm(&card.join("device")).map(|gpu| (place(&card, name), gpu)));
        }
    }
    for card in entries(&root.join("proc/driver/nvidia/gpus")) {
        let name = card.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.extend(nvidia(root, &card).map(|gpu| (name, gpu)));
    }
    found.into_values().collect()
}

fn entries(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// Where a card is on the bus, else its name.
fn place(card: &Path, name: String) -> String {
    let device = fs::read_link(card.join("device")).ok();
    let place = device.and_then(|device| Some(device.file_name()?.to_string_lossy().into_owned()));
    place.unwrap_or(name)
}

fn drm(device: &Path) -> Option<Gpu> {
    let vendor = text(&device.join("vendor"))?;
    let known = VENDORS.iter().find(|(number, _)| *number == vendor);
    let number = || text(&device.join("device")).map(|number| format!("device {number}"));
    let model = text(&device.join("product_name")).or_else(number)?;
    let driver = fs::read_link(device.join("driver")).ok();
    Some(Gpu {
        vendor: known.map_or(vendor.as_str(), |(_, name)| name).to_owned(),
        model,
        vram_bytes: text(&device.join("mem_info_vram_total")).and_then(|text| text.parse().ok()),
        driver: driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
    })
}

fn nvidia(root: &Path, card: &Path) -> Option<Gpu> {
    let model = field(&card.join("information"), "Model:")?;
    let version = text(&root.join("sys/module/nvidia/version"));
    let driver = version.map_or("nvidia".to_owned(), |version| format!("nvidia {version}"));
    Some(Gpu { vendor: "NVIDIA".to_owned(), model, vram_bytes: None, driver: Some(driver) })
}

/// What a file of one line says, if it says something.
fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?.trim().to_owned();
    Some(text).filter(|text| !text.is_empty())
}
