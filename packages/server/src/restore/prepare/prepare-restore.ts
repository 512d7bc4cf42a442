import {
  type Backup,
  type BackupStorageLocation,
  durationMilliseconds,
  goDurationOf,
  InvalidTextError,
  labelNames,
  type Restore,
  type RestoreSpec,
} from '@lateen/api'
import type { DiscoveredResource } from '@lateen/kube'
import type { ResourcePolicies } from '../../filters/policies/resource-policies.ts'
import { resourceResolver } from '../../filters/resource-names.ts'
import { type BackupChoices, chooseBackup } from './choose-backup.ts'
import { nonRestorableResources } from './non-restorable.ts'
import { prepareRestorePolicies } from './prepare-policies.ts'
import { hookErrors } from './validate-hooks.ts'
import { mappingErrors } from './validate-mapping.ts'
import { existingPolicyErrors, listErrors, schemaErrors, selectorErrors } from './validate-restore.ts'

/** What restores that do not say get. Durations are in milliseconds. */
export interface RestoreDefaults {
  itemOperationTimeout: number
}

/** What was observed for a restore, in its namespace where things have one. */
export interface RestoreFacts extends BackupChoices {
  /** Every resource that the cluster serves, in the server's order. */
  discovery: readonly DiscoveredResource[]
  /** The data of the ConfigMap that `spec.resourcePolicy` names; undefined when there is none. */
  policies?: Readonly<Record<string, string>> | undefined
  /** What is wrong in the ConfigMap that `spec.resourceModifier` names; undefined when there is no such ConfigMap. */
  modifiers?: { readonly problems: readonly string[] } | undefined
}

/** A restore that can be run, or the reasons why it cannot. */
export interface PreparedRestore {
  /** With everything in its spec that the server fills in. Phase and times are the caller's to set. */
  restore: Restore
  /** All of them, in the order in which the spec is looked at; empty: the restore can be run. */
  validationErrors: readonly string[]
  /** What is restored, if it exists. */
  backup?: Backup | undefined
  /** Where the backup is, if it exists. */
  location?: BackupStorageLocation | undefined
  policies?: ResourcePolicies | undefined
}

/** What `prepareRestore` works on. */
export interface PrepareRestoreOptions {
  /** Is not changed. */
  restore: Restore
  facts: RestoreFacts
  defaults: RestoreDefaults
}

/**
 * Fills in what a restore does not say and finds everything that is wrong with it. Pure; never throws for what users write. A restore
 * that was prepared cannot be prepared again if it names a schedule: it names the backup, too.
 */
export function prepareRestore({ restore, facts, defaults }: PrepareRestoreOptions): PreparedRestore {
  const given = restore.spec
  const chosen = chooseBackup(restore, facts)
  const policies = prepareRestorePolicies({
    restore,
    data: facts.policies,
    resolve: resourceResolver(facts.discovery),
  })
  const spec = completedSpec(given, chosen.backup, defaults)
  return {
    restore: { ...restore, spec },
    backup: chosen.backup,
    location: chosen.location,
    policies: policies.policies,
    validationErrors: [
      ...schemaErrors(given),
      ...listErrors(spec),
      ...mappingErrors(given),
      ...selectorErrors(given),
      ...hookErrors(given),
      ...existingPolicyErrors(restore),
      ...chosen.errors,
      ...policies.errors,
      ...modifierErrors(restore, facts.modifiers),
    ],
  }
}

function completedSpec(
  spec: RestoreSpec,
  backup: Backup | undefined,
  { itemOperationTimeout }: RestoreDefaults,
): RestoreSpec {
  const excluded = spec.excludedResources ?? []
  const scheduleName = spec.scheduleName || backup?.metadata.labels?.[labelNames.scheduleName]
  return {
    ...spec,
    excludedResources: [...excluded, ...nonRestorableResources.filter(each => !excluded.includes(each))],
    ...(backup?.metadata.name && { backupName: backup.metadata.name }),
    ...(scheduleName && { scheduleName }),
    itemOperationTimeout: durationOr(spec.itemOperationTimeout, itemOperationTimeout),
  }
}

/** A duration of zero says nothing; one that cannot be read is among the validation errors. */
function durationOr(text: string | null | undefined, milliseconds: number): string {
  const fallback = goDurationOf(milliseconds)
  try {
    return durationMilliseconds(text) ? (text ?? fallback) : fallback
  } catch (error) {
    if (error instanceof InvalidTextError) return text ?? fallback
    throw error
  }
}

const supportedKind = 'configmap'

function modifierErrors({ metadata, spec }: Restore, modifiers: RestoreFacts['modifiers']): string[] {
  const reference = spec.resourceModifier
  if (!reference) return []
  if (reference.kind.toLowerCase() !== supportedKind) {
    const kind = JSON.stringify(reference.kind)
    return [`invalid ResourceModifier kind ${kind}, only "${supportedKind}" is supported`]
  }
  const where = `${metadata.namespace ?? ''}/${reference.name}`
  if (modifiers === undefined) {
    return [`failed to get resource modifiers configmap ${where}: it does not exist; create it there`]
  }
  return modifiers.problems.map(
    problem => `Validation error in resource modifiers provided in configmap ${where}: ${problem}`,
  )
}
