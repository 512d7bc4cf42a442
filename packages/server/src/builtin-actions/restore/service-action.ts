import type { ActionItem, RestoreItemAction } from '@lateen/plugin'
import { readNodePortChoices, type Service } from './node-port-choices.ts'
import { removeFields } from './remove-fields.ts'

/**
 * `velero.io/service`: a service gets new cluster addresses, and new node ports but for those that somebody chose: they are in the
 * configuration that was last applied, or somebody owns the field. A restore may preserve them all.
 */
export const serviceAction: RestoreItemAction = {
  appliesTo: async () => ({ includedResources: ['services'] }),
  async execute({ item, restore }) {
    const { spec } = item as ActionItem & Service
    if (spec === undefined) return { item }
    if (spec.clusterIP !== 'None') removeFields(spec, ['clusterIP', 'clusterIPs'])
    if (restore.spec.preserveNodePorts !== true) forgetNodePorts(item)
    return { item }
  },
}

function forgetNodePorts(service: ActionItem & Service): void {
  const { spec } = service
  if (spec === undefined || spec.type === 'ExternalName') return
  const choices = readNodePortChoices(service)
  for (const port of spec.ports ?? []) if (!choices.choseNodePort(port)) removeFields(port, ['nodePort'])
  const usesHealthCheck = spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
  if (usesHealthCheck && !choices.choseHealthCheckPort()) removeFields(spec, ['healthCheckNodePort'])
}
