//! What `/metrics` says: one table of all metrics, a collector that fills it
//! from a reading, and the texts it is handed out in.
//!
//! Must not compute rates or shares (who scrapes does), and must not know HTTP.

mod arrays;
mod collector;
mod devices;
mod families;
mod filter;
mod histograms;
mod myself;
mod openmetrics;
mod reader;
mod table;

#[cfg(test)]
mod tests;

pub use self::{
    collector::{Exporter, ReadCounters},
    filter::{DeviceFilter, FilterError},
    openmetrics::encode as encode_openmetrics,
    reader::{Live, Reader, Scrape},
    table::{ALL, Kind, Metric, by_name, reference},
};
