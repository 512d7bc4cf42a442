import type { RestoreItemAction } from '@lateen/plugin'

/** `velero.io/apiservice`: an APIService that the API server registers by itself is left out. */
export const apiServiceAction: RestoreItemAction = {
  appliesTo: async () => ({
    includedResources: ['apiservices'],
    labelSelector: 'kube-aggregator.kubernetes.io/automanaged',
  }),
  execute: async ({ item }) => ({ item, skip: true }),
}
