import type { ActionItem, RestoreItemAction } from '@lateen/plugin'

interface WebhookConfiguration extends ActionItem {
  webhooks?: { sideEffects?: string }[] | null
}

const allowed = new Set<unknown>(['None', 'NoneOnDryRun'])

/** `velero.io/admission-webhook-configuration`: webhooks get side effects that v1 allows; older versions had others. */
export const webhookConfigurationAction: RestoreItemAction = {
  appliesTo: async () => ({
    includedResources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
  }),
  async execute({ item }) {
    if (item.apiVersion !== 'admissionregistration.k8s.io/v1') return { item }
    for (const webhook of (item as WebhookConfiguration).webhooks ?? []) {
      if (!allowed.has(webhook.sideEffects)) webhook.sideEffects = 'None'
    }
    return { item }
  },
}
