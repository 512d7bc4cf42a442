import type { DeleteItemAction } from './delete-item-action.ts'
import type { BackupItemAction, ItemBlockAction } from './item-actions.ts'
import type { ObjectStore } from './object-store.ts'
import { PluginError } from './plugin-error.ts'
import type { RestoreItemAction } from './restore-item-action.ts'
import type { VolumeSnapshotter } from './volume-snapshotter.ts'

/** What a plugin of each kind implements. Version 1 of an action has no operations, version 3 has `getAdditionalItems`. */
export interface PluginOfKind {
  BackupItemAction: BackupItemAction
  BackupItemActionV2: BackupItemAction
  BackupItemActionV3: BackupItemAction
  VolumeSnapshotter: VolumeSnapshotter
  ObjectStore: ObjectStore
  RestoreItemAction: RestoreItemAction
  RestoreItemActionV2: RestoreItemAction
  DeleteItemAction: DeleteItemAction
  ItemBlockAction: ItemBlockAction
}

export type PluginKind = keyof PluginOfKind

/** All kinds, in the order in which Velero's own programs list them. */
export const pluginKinds = [
  'BackupItemAction',
  'BackupItemActionV2',
  'BackupItemActionV3',
  'VolumeSnapshotter',
  'ObjectStore',
  'RestoreItemAction',
  'RestoreItemActionV2',
  'DeleteItemAction',
  'ItemBlockAction',
] as const satisfies readonly PluginKind[]

/** The kinds that Velero does not have. It refuses to start when a program lists one. */
export const kindsBeyondVelero = ['BackupItemActionV3'] as const satisfies readonly PluginKind[]

/**
 * The environment variable by which a host tells which kinds beyond Velero's it knows, joined by commas. Without it a program lists
 * Velero's kinds alone.
 */
export const knownKindsVariable = 'LATEEN_PLUGIN_KINDS'

/** The kinds that a host knows, by what it put into `knownKindsVariable`. */
export function kindsKnownToHost(announced: string | undefined): ReadonlySet<PluginKind> {
  const more = new Set(announced?.split(',').map(kind => kind.trim()))
  const beyond: readonly PluginKind[] = kindsBeyondVelero
  return new Set(pluginKinds.filter(kind => !beyond.includes(kind) || more.has(kind)))
}

export function isPluginKind(kind: string): kind is PluginKind {
  return (pluginKinds as readonly string[]).includes(kind)
}

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Why Velero would not accept a plugin of this name, or undefined if it would. */
export function pluginNameProblem(name: string): string | undefined {
  const [domain = '', rest = '', ...more] = name.split('/')
  if (rest === '' || domain === '' || more.length > 0) return 'it must have two parts joined by one "/"'
  if (domain.length > 253 || !subdomain.test(domain)) {
    return 'what is before the "/" must be a DNS name in lower case'
  }
  return name.isWellFormed() ? undefined : 'it is not well-formed Unicode'
}

/** Throws BAD_NAME for a name that `pluginNameProblem` objects to. */
export function checkPluginName(kind: PluginKind, name: string): void {
  const problem = pluginNameProblem(name)
  if (problem === undefined) return
  throw new PluginError('BAD_NAME', {
    reason: `${kind} ${JSON.stringify(name)} cannot be registered: ${problem}`,
    hint: 'Use the domain of your organisation and a name, such as example.com/my-action',
  })
}

/** The full name of a plugin: a name without domain, such as a location's provider, is one of velero.io. */
export function fullPluginName(name: string): string {
  return name.includes('/') ? name : `velero.io/${name}`
}
