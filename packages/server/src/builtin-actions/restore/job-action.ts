import type { ActionItem, RestoreItemAction } from '@lateen/plugin'
import { removeEntries } from './remove-fields.ts'

interface Job extends ActionItem {
  spec?: { selector?: object | null; template?: { metadata?: object | null } | null }
}

// Kubernetes sets both, to the UID that the job had.
const controllerLabels = ['controller-uid', 'batch.kubernetes.io/controller-uid']

/** `velero.io/job`: a job loses the labels that tie it to pods of the job it was. */
export const jobAction: RestoreItemAction = {
  appliesTo: async () => ({ includedResources: ['jobs'] }),
  async execute({ item }) {
    const { spec } = item as Job
    if (spec?.selector) removeEntries(spec.selector, 'matchLabels', controllerLabels)
    if (spec?.template?.metadata) removeEntries(spec.template.metadata, 'labels', controllerLabels)
    return { item }
  },
}
