import type { CustomResourceDefinition } from '@lateen/api'
import { isNotFound, type KubeClient, type ResourceClient } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import { applyTo } from './apply-object.ts'
import type { InstallPorts } from './install-ports.ts'
import { DefinitionKind, type StoredDefinition } from './stored-definition.ts'

const READY_WITHIN_MS = 60_000
const POLL_MS = 250

/**
 * Applies the definitions one by one, saying of each whether it was created, changed or already right, then waits until
 * the API server serves all of them. Throws a CliError (`TIMEOUT`) naming those that it does not serve after a minute.
 */
export async function* applyDefinitions(
  definitions: readonly CustomResourceDefinition[],
  ports: InstallPorts,
): AsyncGenerator<string> {
  const stored = ports.client.resource(DefinitionKind)
  for (const definition of definitions) {
    const outcome = await applyTo(stored, definition, ports.signal)
    yield `CustomResourceDefinition/${definition.metadata.name}: ${outcome}`
  }
  yield 'Waiting for resources to be ready in cluster...'
  await waitUntilServed(definitions, stored, ports)
}

async function waitUntilServed(
  definitions: readonly CustomResourceDefinition[],
  stored: ResourceClient<StoredDefinition>,
  { client, clock, signal }: InstallPorts,
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
