/** The settings of a location that have a value, as `Init` carries them. */
export function definedSettings(
  config: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
