import type { NodeOs } from './mover-pod.ts'
import type { NodeAgentConfig } from './node-agent-config.ts'

interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

interface NodeTerm {
  readonly matchExpressions?: readonly Requirement[]
  readonly matchFields?: readonly Requirement[]
}

/** Terms of Kubernetes, one of which has to hold. */
export interface NodeSelector {
  readonly nodeSelectorTerms: readonly NodeTerm[]
}

/** What says where a mover may run that is for no node. */
export interface MoverPlace {
  readonly config: Pick<NodeAgentConfig, 'loadAffinity'>
  readonly os: NodeOs
  /** Of the volume that the mover is to have. */
  readonly storageClass: string | undefined
  /** The one node where that volume will be, if that is settled. */
  readonly node?: string | undefined
  /** The nodes where that volume can be. */
  readonly topology?: NodeSelector | undefined
  /** The nodes where it cannot be. */
  readonly notOn?: readonly string[]
}

/** The choice for a storage class: the first that names it, else the first that names none. */
function choiceFor({ config: { loadAffinity = [] }, storageClass }: MoverPlace) {
  return (
    loadAffinity.find(choice => choice.storageClass && choice.storageClass === storageClass) ??
    loadAffinity.find(choice => !choice.storageClass)
  )
}

/** The affinity by which the scheduler finds a node for a mover. */
export function moverAffinity(place: MoverPlace): object {
  const { os, node, topology, notOn = [] } = place
  const { matchLabels = {}, matchExpressions = [] } = choiceFor(place)?.nodeSelector ?? {}
  const required: Requirement[] = [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
    ...matchExpressions,
    { key: 'kubernetes.io/os', operator: os === 'windows' ? 'In' : 'NotIn', values: ['windows'] },
    ...(notOn.length === 0 ? [] : [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: notOn }]),
  ]
  const fields = node === undefined ? [] : [{ key: 'metadata.name', operator: 'In', values: [node] }]
  const terms = topology?.nodeSelectorTerms ?? [{}]
  const nodeSelectorTerms = terms.map((term: NodeTerm) => ({
    matchExpressions: [...(term.matchExpressions ?? []), ...required],
    ...((term.matchFields ?? fields).length > 0 && { matchFields: [...(term.matchFields ?? []), ...fields] }),
  }))
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } }
}
