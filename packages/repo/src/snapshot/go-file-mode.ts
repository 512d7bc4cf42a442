const permissionBits = 0o777
const unixSetuid = 0o4000
const unixSetgid = 0o2000
const unixSticky = 0o1000
const goSetuid = 1 << 23
const goSetgid = 1 << 22
const goSticky = 1 << 20

/** Go's file mode (permissions, setuid, setgid, sticky; no type bits) of a `st_mode`. */
export function goModeFromUnix(mode: number): number {
  let result = mode & permissionBits
  if (mode & unixSetuid) result |= goSetuid
  if (mode & unixSetgid) result |= goSetgid
  if (mode & unixSticky) result |= goSticky
  return result
}

/** The twelve bits for chmod of a stored mode. */
export function unixModeFromGo(mode: number): number {
  let result = mode & permissionBits
  if (mode & goSetuid) result |= unixSetuid
  if (mode & goSetgid) result |= unixSetgid
  if (mode & goSticky) result |= unixSticky
  return result
}
