// Numbers as people read them, as in the agent's own text. Must not divide by
// anything but a unit.

export const NOT_KNOWN = "-";

const orDash = (text) => (value) => (value === null || value === undefined ? NOT_KNOWN : text(value));

/** Exactly 0 is "0"; whatever is not 0 never looks like it. */
export const rate = orDash((value) => {
  if (value === 0) return "0";
  if (value < 0.1) return "<0.1";
  return value < 9999.95 ? value.toFixed(1) : count(Math.round(value));
});

/** Bytes a second in MB (1,000,000 bytes) a second. */
export const megabytes = orDash((value) => rate(value / 1e6));

/** A share from 0 to 1; 0% and 100% are exact. */
export const percent = orDash((share) => {
  const value = share * 100;
  if (value <= 0) return "0%";
  if (share === 1) return "100%";
  if (value < 0.1) return "<0.1%";
  if (value > 99.9 && value < 100) return ">99.9%";
  return `${value.toFixed(1)}%`;
});

export const count = orDash((value) => value.toLocaleString("en"));

/** Exact, in the largest unit that divides it. */
export const size = orDash((bytes) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && value % 1024 === 0 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${count(value)} ${units[unit]}`;
});

/** An amount of data, three significant digits. */
export const amount = orDash((bytes) => {
  const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
});

/** Seconds in milliseconds, three significant digits. */
export const milliseconds = orDash((seconds) => {
  const value = seconds * 1e3;
  if (value < 1) return value.toFixed(3);
  if (value < 10) return value.toFixed(2);
  return value < 100 ? value.toFixed(1) : value.toFixed(0);
});

/** A length of time, in the unit that fits. */
export const duration = orDash((seconds) => {
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} minutes`;
  return `${Math.round(seconds / 3600)} hours`;
});

/** A ratio that is no share. */
export const times = orDash((value) => value.toFixed(2));
