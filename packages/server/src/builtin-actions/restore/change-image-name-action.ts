import type { ActionItem, RestoreItemAction } from '@lateen/plugin'
import type { PluginConfig } from './plugin-config.ts'

interface Container {
  image?: string
}

interface PodSpec {
  containers?: Container[] | null
  initContainers?: Container[] | null
}

interface PodTemplate {
  template?: { spec?: PodSpec }
}

/** Objects that run pods, or are one. */
interface Workload extends ActionItem {
  spec?: PodSpec & PodTemplate & { jobTemplate?: { spec?: PodTemplate } }
}

/** A part of the names of images, and what to put in its place. */
export interface ImageChange {
  readonly from: string
  readonly to: string
}

/** `velero.io/change-image-name`: images are called as the entries of the action's ConfigMap say. */
export function changeImageNameAction(config: PluginConfig): RestoreItemAction {
  return {
    appliesTo: async () => ({
      includedResources: [
        'deployments',
        'statefulsets',
        'daemonsets',
        'replicasets',
        'replicationcontrollers',
        'jobs',
        'cronjobs',
        'pods',
      ],
    }),
    async execute({ item, signal }) {
      const changes = [...(await config(signal)).values()].flatMap(parseImageChange)
      const spec = podSpecOf(item)
      for (const container of [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]) {
        if (container.image) container.image = changedImage(container.image, changes)
      }
      return { item }
    },
  }
}

/** Reads `old,new`; anything else means nothing. */
export function parseImageChange(text: string): ImageChange[] {
  const comma = text.indexOf(',')
  const from = text.slice(0, Math.max(comma, 0)).trim()
  return from === '' || comma === text.length - 1 ? [] : [{ from, to: text.slice(comma + 1).trim() }]
}

/** The image after the first change that fits it. */
export function changedImage(image: string, changes: readonly ImageChange[]): string {
  const change = changes.find(({ from }) => image.includes(from))
  return change === undefined ? image : image.replaceAll(change.from, () => change.to)
}

function podSpecOf({ kind, spec }: Workload): PodSpec | undefined {
  switch (kind) {
    case 'Pod':
      return spec
    case 'CronJob':
      return spec?.jobTemplate?.spec?.template?.spec
    default:
      return spec?.template?.spec
  }
}
