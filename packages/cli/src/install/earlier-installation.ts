import { unlessNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import { serverFlags } from '../tree/server.ts'
import type { InstallPorts } from './install-ports.ts'
import { DaemonSetKind, DeploymentKind, NamespaceKind, type Workload } from './installed-kinds.ts'
import { keptArguments } from './kept-arguments.ts'
import { agentFlagNames, serverFlagNames } from './workload-arguments.ts'

/** A workload to apply, with what goes on from the one that was there. */
export interface Succession {
  readonly workload: Workload
  readonly notes: readonly string[]
}

/** Throws a CliError (`REFUSED`) while the namespace is being deleted. */
export async function requireLivingNamespace(name: string, { client, signal }: InstallPorts): Promise<void> {
  const found = await client.resource(NamespaceKind).get(name, { signal }).catch(unlessNotFound)
  if (found?.metadata.deletionTimestamp === undefined) return
  throw new CliError('REFUSED', `namespace ${name} is being deleted`, {
    hint: `wait until 'kubectl get namespace ${name}' finds nothing and run the command again`,
  })
}

/**
 * Lets a Deployment or DaemonSet take the place of the one of its name: arguments that no flag of `install` decides go on. Throws
 * a CliError (`REFUSED`) where the earlier one selects other pods, which cannot be changed.
 */
export async function succeed(workload: Workload, ports: InstallPorts): Promise<Succession> {
  const kind = workload.kind === 'Deployment' ? DeploymentKind : DaemonSetKind
  const { name = '', namespace } = workload.metadata
  const earlier = await ports.client
    .resource(kind, namespace)
    .get(name, { signal: ports.signal })
    .catch(unlessNotFound)
  return earlier === undefined ? { workload, notes: [] } : successionOf(workload, earlier)
}

/** The pure part of `succeed`. */
export function successionOf(workload: Workload, earlier: Workload): Succession {
  requireSameSelector(workload, earlier)
  const ours = containerOf(workload)
  const theirs = earlier.spec?.template?.spec?.containers?.find(({ name }) => name === ours?.name)
  if (ours === undefined || theirs === undefined) return { workload, notes: [] }
  const isServer = workload.kind === 'Deployment'
  const { kept, dropped } = keptArguments(theirs.args?.slice(isServer ? 1 : 2) ?? [], {
    flags: isServer ? serverFlags : agentFlags,
    decided: isServer ? serverFlagNames : agentFlagNames,
  })
  const id = `${workload.kind}/${workload.metadata.name}`
  const notes = [
    ...(theirs.image === ours.image ? [] : [`${id}: image ${theirs.image} becomes ${ours.image}`]),
    ...(kept.length === 0 ? [] : [`${id}: keeps ${kept.join(' ')}`]),
    ...(dropped.length === 0
      ? []
      : [`Warning: ${id}: drops arguments that this version does not know: ${dropped.join(' ')}`]),
    ...(earlier.spec?.replicas === 0 && workload.spec?.replicas === undefined ? [stopped(workload)] : []),
  ]
  return { workload: withArguments(workload, kept), notes }
}

function stopped({ kind, metadata }: Workload): string {
  const { name, namespace } = metadata
  return `Warning: ${kind}/${name} was scaled to 0 and stays stopped. Start it: kubectl -n ${namespace} scale ${kind.toLowerCase()} ${name} --replicas=1`
}

/** Flags of a node agent that no flag of `install` decides. */
const agentFlags = {
  'log-level': serverFlags['log-level'],
  'log-format': serverFlags['log-format'],
  'resource-timeout': serverFlags['resource-timeout'],
  'data-mover-prepare-timeout': { type: 'duration', help: '' },
} as const

function containerOf(workload: Workload) {
  return workload.spec?.template?.spec?.containers?.[0]
}

function withArguments(workload: Workload, more: readonly string[]): Workload {
  const { spec } = workload
  const pod = spec?.template?.spec
  const [first, ...others] = pod?.containers ?? []
  if (spec === undefined || first === undefined || more.length === 0) return workload
  const containers = [{ ...first, args: [...(first.args ?? []), ...more] }, ...others]
  return { ...workload, spec: { ...spec, template: { ...spec.template, spec: { ...pod, containers } } } }
}

function requireSameSelector(workload: Workload, earlier: Workload): void {
  const [wanted, found] = [workload, earlier].map(({ spec }) => selectorText(spec?.selector))
  if (wanted === found) return
  const { name, namespace } = workload.metadata
  const kind = workload.kind.toLowerCase()
  throw new CliError(
    'REFUSED',
    `${workload.kind} ${namespace}/${name} selects pods by ${found}, where ${wanted} is needed, and that cannot be changed`,
    {
      hint: `it was not made by 'velero install' or 'lateen install': upgrade it the way it was installed (such as Helm), or remove it with 'kubectl -n ${namespace} delete ${kind} ${name}' and run the command again; backups and schedules stay`,
    },
  )
}

function selectorText(selector: { matchLabels?: Record<string, string> } = {}): string {
  const { matchLabels = {}, ...more } = selector
  const pairs = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
  const rest = Object.keys(more).length === 0 ? [] : [JSON.stringify(more)]
  return [...pairs.sort(), ...rest].join(',') || 'nothing'
}
