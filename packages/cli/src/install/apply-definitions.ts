import type { CustomResourceDefinition } from '@lateen/api'
import {
  type Clock,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type ResourceClient,
  type ResourceType,
  unlessNotFound,
} from '@lateen/kube'
import { CliError } from '../cli-error.ts'

const READY_WITHIN_MS = 60_000
const POLL_MS = 250

interface Condition {
  type: string
  status: string
  message?: string
}

interface StoredDefinition extends KubeObject {
  status?: { conditions?: Condition[] }
}

const definitionType: ResourceType<StoredDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** The cluster to change and how long to go on. */
export interface ApplyPorts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Applies the definitions one by one, saying of each whether it was created, changed or already right, then waits until
 * the API server serves all of them. Throws a CliError (`TIMEOUT`) naming those that it does not serve after a minute.
 */
export async function* applyDefinitions(
  definitions: readonly CustomResourceDefinition[],
  ports: ApplyPorts,
): AsyncGenerator<string> {
  const stored = ports.client.resource(definitionType)
  for (const definition of definitions) {
    const outcome = await applyOne(stored, definition, ports.signal)
    yield `CustomResourceDefinition/${definition.metadata.name}: ${outcome}`
  }
  yield 'Waiting for resources to be ready in cluster...'
  await waitUntilServed(definitions, stored, ports)
}

async function applyOne(
  stored: ResourceClient<StoredDefinition>,
  definition: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<'created' | 'configured' | 'unchanged'> {
  const { name } = definition.metadata
  const before = await stored.get(name, { signal }).catch(unlessNotFound)
  const after = await stored.patch(
    name,
    { type: 'apply', body: definition, fieldManager: 'lateen-cli', force: true },
    { signal },
  )
  if (before === undefined) return 'created'
  return before.metadata.resourceVersion === after.metadata.resourceVersion ? 'unchanged' : 'configured'
}

async function waitUntilServed(
  definitions: readonly CustomResourceDefinition[],
  stored: ResourceClient<StoredDefinition>,
  { client, clock, signal }: ApplyPorts,
): Promise<void> {
  const deadline = clock.now() + READY_WITHIN_MS
  for (const definition of definitions) {
    for (;;) {
      const obstacle =
        notEstablished(await stored.get(definition.metadata.name, { signal })) ??
        (await notServed(client, definition, signal))
      if (obstacle === undefined) break
      if (clock.now() >= deadline) throw notReady(definition.metadata.name, obstacle)
      await clock.sleep(POLL_MS, signal)
    }
  }
}

/** Why a definition is not in force yet; undefined when it is. */
export function notEstablished({ status }: StoredDefinition): string | undefined {
  for (const type of ['NamesAccepted', 'Established']) {
    const condition = status?.conditions?.find(candidate => candidate.type === type)
    if (condition?.status !== 'True') return condition?.message || `it is not ${type} yet`
  }
  return undefined
}

async function notServed(
  client: KubeClient,
  { spec }: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<string | undefined> {
  const version = spec.versions[0]?.name ?? 'v1'
  try {
    const text = await client.getRaw(`/apis/${spec.group}/${version}`, { signal })
    const { resources = [] } = JSON.parse(text) as { resources?: { name: string }[] }
    if (resources.some(resource => resource.name === spec.names.plural)) return undefined
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  return 'the API server does not list it yet'
}

function notReady(name: string, obstacle: string): CliError {
  return new CliError(
    'TIMEOUT',
    `CustomResourceDefinition ${name} is not served after a minute: ${obstacle}`,
    {
      hint: `look at 'kubectl describe crd ${name}'`,
    },
  )
}
