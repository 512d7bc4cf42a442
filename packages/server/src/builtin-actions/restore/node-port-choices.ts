import type { ActionItem } from '@lateen/plugin'
import { RestoreActionError } from './restore-action-error.ts'

export interface ServicePort {
  name?: string
  port?: number
  protocol?: string
  nodePort?: number
}

/** A Service, as far as node ports are concerned. */
export interface Service {
  spec?: {
    type?: string
    clusterIP?: string
    externalTrafficPolicy?: string
    healthCheckNodePort?: number
    ports?: ServicePort[] | null
  }
}

/** Which node ports of a service somebody chose; the others were assigned. */
export interface NodePortChoices {
  choseNodePort(port: ServicePort): boolean
  choseHealthCheckPort(): boolean
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/**
 * Looks into the configuration that was last applied; where there is none, for owners of the fields. The port for health
 * checks may be in either. Throws RestoreActionError when the configuration is not JSON.
 */
export function readNodePortChoices(service: ActionItem & Service): NodePortChoices {
  const applied = appliedService(service)
  const owned = ownedFields(service)
  return {
    choseNodePort: applied === undefined ? port => isOwned(owned, port) : appliedPorts(applied),
    choseHealthCheckPort: () =>
      (applied?.spec?.healthCheckNodePort ?? 0) !== 0 ||
      owned.some(({ 'f:healthCheckNodePort': owner }) => owner !== undefined),
  }
}

function appliedService({ metadata }: ActionItem): Service | undefined {
  const text = metadata.annotations?.[lastApplied]
  if (text === undefined) return undefined
  try {
    return (JSON.parse(text) ?? {}) as Service
  } catch (cause) {
    const service = `services ${metadata.namespace ?? ''}/${metadata.name ?? ''}`
    throw new RestoreActionError('ITEM_MALFORMED', `${service}: the annotation ${lastApplied} is not JSON`, {
      hint: 'restore with preserveNodePorts to keep all node ports',
      cause,
    })
  }
}

/** Ports with a name are found by it, others by their number. */
function appliedPorts({ spec }: Service): (port: ServicePort) => boolean {
  const names = new Set<unknown>()
  const numbers = new Set<unknown>()
  for (const port of listOf(spec?.ports)) {
    const nodePort = Math.trunc(Number(port.nodePort ?? 0))
    if (!(nodePort > 0)) continue
    if (Object.hasOwn(port, 'name')) names.add(port.name)
    else numbers.add(nodePort)
  }
  return ({ name = '', nodePort }) => (name === '' ? numbers.has(nodePort) : names.has(name))
}

type Owned = Readonly<Record<string, unknown>>

/** What every manager owns in the spec, in the notation of managedFields. */
function ownedFields({ metadata }: ActionItem): Owned[] {
  const entries = listOf(metadata.managedFields as readonly { fieldsV1?: { 'f:spec'?: Owned } }[] | undefined)
  return entries.map(({ fieldsV1 }) => fieldsV1?.['f:spec']).filter(spec => spec !== undefined)
}

function isOwned(owned: readonly Owned[], { port, protocol = '' }: ServicePort): boolean {
  const key = `k:{"port":${port ?? 0},"protocol":"${protocol}"}`
  return owned.some(fields => {
    const ports = fields['f:ports'] as Readonly<Record<string, Owned>> | undefined
    return ports?.[key]?.['f:nodePort'] !== undefined
  })
}

function listOf<T>(value: readonly T[] | null | undefined): readonly T[] {
  return Array.isArray(value) ? value : []
}
