import { allKinds, veleroGroup } from '@lateen/api'
import { type KubeObject, type ResourceType, unlessNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { InstallPorts } from './install-ports.ts'
import { DefinitionKind, type StoredDefinition } from './stored-definition.ts'

const POLL_MS = 200
const GONE_WITHIN_MS = 60_000

/**
 * Removes the definitions that installations make and waits until they are gone. While another namespace has objects of these
 * kinds, all stay. Throws a CliError (`TIMEOUT`) naming those that do not go.
 */
export async function* removeDefinitions(ports: InstallPorts): AsyncGenerator<string> {
  const { client, clock, signal } = ports
  const stored = client.resource(DefinitionKind)
  const ours = (await stored.list({ signal }).toArray()).filter(isOurs)
  const users = await namespacesUsing(ours, ports)
  if (users.length > 0) {
    yield `The CustomResourceDefinitions stay, because there are objects of their kinds in ${users.join(', ')}.`
    return
  }
  for (const { metadata } of ours) await stored.delete(metadata.name ?? '', { signal }).catch(unlessNotFound)
  const deadline = clock.now() + GONE_WITHIN_MS
  for (const { metadata } of ours) {
    const name = metadata.name ?? ''
    while ((await stored.get(name, { signal }).catch(unlessNotFound)) !== undefined) {
      if (clock.now() >= deadline) throw stillThere(name)
      await clock.sleep(POLL_MS, signal)
    }
    yield `CustomResourceDefinition/${name}: removed`
  }
}

const ownNames = new Set(allKinds.map(({ plural, group }) => `${plural}.${group}`))

/** Velero labels its definitions; somebody may have taken the label off ours. */
function isOurs({ metadata, spec }: StoredDefinition): boolean {
  if (spec?.group !== veleroGroup) return false
  return ownNames.has(metadata.name ?? '') || metadata.labels?.component === 'velero'
}

async function namespacesUsing(
  definitions: readonly StoredDefinition[],
  { client, signal }: InstallPorts,
): Promise<string[]> {
  const users = new Set<string>()
  for (const definition of definitions) {
    const kind = servedKind(definition)
    if (kind === undefined) continue
    const objects = client.resource(kind).list({ signal, limit: 500 })
    try {
      for await (const { metadata } of objects) users.add(`namespace ${metadata.namespace}`)
    } catch (error) {
      unlessNotFound(error)
    }
  }
  return [...users].sort()
}

function servedKind({ spec }: StoredDefinition): ResourceType<KubeObject> | undefined {
  const version = spec?.versions?.find(({ served }) => served)?.name
  const { kind, plural } = spec?.names ?? {}
  if (version === undefined || kind === undefined || plural === undefined) return undefined
  return { group: veleroGroup, version, kind, plural, namespaced: true }
}

function stillThere(name: string): CliError {
  return new CliError('TIMEOUT', `CustomResourceDefinition ${name} does not go`, {
    hint: `look at 'kubectl get crd ${name} -o yaml', then run the command again`,
  })
}
