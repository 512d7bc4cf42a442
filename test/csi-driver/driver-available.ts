/** Why the driver cannot work here, or false. It mounts, and makes loop devices. */
export function withoutDriver(): string | false {
  if (process.platform !== 'linux') return `the test CSI driver needs Linux, and this is ${process.platform}`
  return process.getuid?.() === 0 ? false : 'the test CSI driver needs root, for mounts and loop devices'
}
