import { lateenAnnotation, type Restore } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import type { GroupResource } from '../../item/item.ts'
import { keepBinding } from '../volumes/keep-binding.ts'
import { type MergePatch, mergePatchBetween } from './merge-patch.ts'
import { mergeServiceAccount } from './merge-service-account.ts'
import { addRestoreLabels, labelMapOf, type RestoreLabels } from './reset-object.ts'
import { sameJson } from './same-json.ts'

/** What a restore does with objects that are there already. `''` is `none` in other words. */
export type ExistingPolicy = '' | 'none' | 'update' | 'recreate'

/** An annotation of Restores: `recreate` replaces objects that differ, which Velero's policies cannot. */
export const existingPolicyAnnotation = lateenAnnotation('existing-resource-policy')

/** The policy of a restore. The annotation goes before the spec. */
export function existingPolicyOf({ metadata, spec }: Restore): ExistingPolicy {
  if (metadata.annotations?.[existingPolicyAnnotation] === 'recreate') return 'recreate'
  const policy = spec.existingResourcePolicy ?? ''
  return policy === 'update' || policy === 'none' ? policy : ''
}

/** What to do about an object that is there. */
export type ExistingStep =
  /** It is as the backup has it. */
  | { step: 'leave' }
  /** It is as the backup has it, and is to be marked. */
  | { step: 'mark'; patch: MergePatch }
  /** It differs, and stays as it is. */
  | { step: 'keep'; warning: string }
  /** If that fails and there is a `mark`, it is at least marked. */
  | { step: 'patch'; patch: MergePatch; mark: MergePatch | undefined }
  | { step: 'replace' }

export interface ExistingFacts {
  policy: ExistingPolicy
  groupResource: GroupResource
  /** As it would be created, labels of the restore included. */
  wanted: ActionItem
  /** As it is there, after `resetObject` and `dropFieldOwners`. */
  live: ActionItem
  labels: RestoreLabels
  /** Whether it is a volume or a claim that is in use. */
  bound?: boolean
}

/** Their data would be gone with them. */
const neverReplaced = new Set<string>([
  'persistentvolumes',
  'persistentvolumeclaims',
  'namespaces',
  'customresourcedefinitions.apiextensions.k8s.io',
])

/** Decides by policy and difference. Who owns which field is no difference. */
export function decideExisting(facts: ExistingFacts): ExistingStep {
  if (!facts.bound) return decide(facts)
  const wanted = keepBinding(facts.wanted, facts.live)
  if (wanted !== undefined) return decide({ ...facts, wanted })
  return decideDifferent({ ...facts, policy: facts.policy === '' ? '' : 'none' }, {})
}

function decide(facts: ExistingFacts): ExistingStep {
  const { policy, wanted, live, labels } = facts
  const marked = { ...live, metadata: { ...live.metadata } }
  addRestoreLabels(marked, labels)
  const mark: MergePatch = { metadata: { labels: labelMapOf(labels) } }
  if (sameJson(marked, wanted)) {
    // Velero's own action makes every service account look different, and one without anything to merge keeps its labels.
    const marks = policy === 'update' && facts.groupResource !== 'serviceaccounts'
    return marks ? { step: 'mark', patch: mark } : { step: 'leave' }
  }
  if (facts.groupResource === 'serviceaccounts') {
    const patch = mergePatchBetween(marked, mergeServiceAccount(marked, wanted))
    if (patch === undefined) return { step: 'leave' }
    return { step: 'patch', patch, mark: policy === 'update' ? mark : undefined }
  }
  return decideDifferent(facts, mark)
}

function decideDifferent(facts: ExistingFacts, mark: MergePatch): ExistingStep {
  const { policy, groupResource, wanted, live } = facts
  switch (policy) {
    case 'update':
      return { step: 'patch', patch: mergePatchBetween(live, wanted) ?? mark, mark }
    case 'recreate':
      if (neverReplaced.has(groupResource)) return { step: 'keep', warning: notReplaced(wanted) }
      return { step: 'replace' }
    case 'none':
      return { step: 'keep', warning: alreadyExists(`${wanted.kind} "${wanted.metadata.name}"`) }
    case '':
      return { step: 'keep', warning: alreadyExists(`${wanted.kind}:${wanted.metadata.name}`) }
  }
}

function alreadyExists(object: string): string {
  return `could not restore, ${object} already exists. Warning: the in-cluster version is different than the backed-up version`
}

function notReplaced({ kind, metadata }: ActionItem): string {
  return `could not restore, ${kind} "${metadata.name}" already exists and is different: objects of this kind are never deleted by a restore, because their data would be lost`
}
