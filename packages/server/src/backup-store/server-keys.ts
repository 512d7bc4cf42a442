/** What is wrong with the settings of a location. */
export interface SettingsProblem {
  reason: string
  hint: string
}

/**
 * Why a location may not have these settings; undefined if it may. `credentialsFile` is a path in the server's own container, which
 * the server sets from `spec.credential`. Whoever may write locations, and no more, could else have it log in with the secrets of other
 * locations, or read any other file that it can read.
 */
export function serverKeyProblem(
  config: Readonly<Record<string, string>> | undefined,
): SettingsProblem | undefined {
  if (config?.credentialsFile === undefined) return undefined
  return {
    reason:
      "spec.config has credentialsFile, a path in the server's own container, which no location may choose",
    hint: 'Put the credentials into a Secret and name it in spec.credential; without that the server uses its own',
  }
}
