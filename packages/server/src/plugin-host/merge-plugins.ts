import type { PluginKind } from '@lateen/plugin'
import type { DiscoveredProgram, PluginProblem } from './discover-programs.ts'

/** A plugin that can be used. */
export interface KnownPlugin {
  kind: PluginKind
  name: string
  /** The program that it is in; absent for those of the server. */
  program?: string
}

export interface MergeOptions {
  builtIns: readonly KnownPlugin[]
  programs: readonly DiscoveredProgram[]
  /** Whether a plugin of a program takes the place of the server's of the same name. */
  preferExternal: boolean
}

/** All plugins, and those that give way to others. */
export interface MergedPlugins {
  /** In the order in which they run. */
  plugins: readonly KnownPlugin[]
  problems: readonly (PluginProblem & { file: string })[]
}

const versions: Partial<Record<PluginKind, [family: string, version: number]>> = {
  BackupItemAction: ['BackupItemAction', 1],
  BackupItemActionV2: ['BackupItemAction', 2],
  BackupItemActionV3: ['BackupItemAction', 3],
  RestoreItemAction: ['RestoreItemAction', 1],
  RestoreItemActionV2: ['RestoreItemAction', 2],
}

/** A name is used once among all versions of a kind: they are one interface, and the same action must not run twice. */
export function familyKey({ kind, name }: { kind: PluginKind; name: string }): string {
  return `${versions[kind]?.[0] ?? kind} ${name}`
}

/**
 * Decides which plugins a server has: its own, then those of programs in the order of their files. Of a name that one program has in several
 * versions, the newest is used. Of a name that two programs have, the first one's is.
 */
export function mergePlugins({ builtIns, programs, preferExternal }: MergeOptions): MergedPlugins {
  const problems: (PluginProblem & { file: string })[] = []
  const own = new Set(builtIns.map(familyKey))
  const taken = new Map<string, string>()
  const external: KnownPlugin[] = []
  for (const { file, plugins } of programs) {
    for (const plugin of newestVersions(plugins)) {
      const problem = conflict(familyKey(plugin), { own, taken, preferExternal })
      if (problem !== undefined) problems.push({ file, ...plugin, ...problem })
      else external.push({ ...plugin, program: file })
    }
    for (const plugin of plugins) {
      if (!taken.has(familyKey(plugin))) taken.set(familyKey(plugin), file)
    }
  }
  const replaced = new Set(external.map(familyKey))
  return { plugins: [...builtIns.filter(plugin => !replaced.has(familyKey(plugin))), ...external], problems }
}

function newestVersions(plugins: DiscoveredProgram['plugins']): DiscoveredProgram['plugins'] {
  const version = ({ kind }: { kind: PluginKind }) => versions[kind]?.[1] ?? 1
  return plugins.filter(
    plugin =>
      !plugins.some(other => familyKey(other) === familyKey(plugin) && version(other) > version(plugin)),
  )
}

function conflict(
  key: string,
  { own, taken, preferExternal }: { own: Set<string>; taken: Map<string, string>; preferExternal: boolean },
): { reason: string; hint: string } | undefined {
  const first = taken.get(key)
  if (first !== undefined) {
    return {
      reason: `${first} has a plugin of that kind and name already`,
      hint: 'Remove one of the programs',
    }
  }
  if (!own.has(key) || preferExternal) return undefined
  return {
    reason: 'the server has a plugin of that kind and name itself',
    hint: 'Start the server with --prefer-external-plugins to use the one of the program',
  }
}
