import { allKinds } from '@lateen/api'
import { builtInKind, isNotFound, type KubeObject, type ResourceType } from '@lateen/kube'
import type { Place } from '../commands/object-client.ts'
import type { BundleFile } from './bundle-file.ts'
import { textWithoutSecrets, withoutSecrets } from './without-secrets.ts'

/** Hears of what could not be had. */
export type Complain = (what: string, error: unknown) => void

interface Pod extends KubeObject {
  readonly spec?: {
    readonly initContainers?: readonly { readonly name: string }[]
    readonly containers?: readonly { readonly name: string }[]
  }
}

const PodKind = builtInKind<Pod>('Pod')

/** All velero.io objects of a namespace, a file for each kind that has some. */
export async function* objectFiles(place: Place, complain: Complain): AsyncGenerator<BundleFile> {
  for (const kind of allKinds) {
    const folder = `kubecapture/${kind.group}_${kind.version}/${place.namespace}`
    yield* listFile(kind, { place, complain, path: `${folder}/${kind.plural}.json` })
  }
}

/** The pods of a namespace, and the log of each of their containers. */
export async function* podFiles(place: Place, complain: Complain): AsyncGenerator<BundleFile> {
  const { client, namespace, signal } = place
  const folder = `kubecapture/core_v1/${namespace}`
  const pods: Pod[] = []
  for await (const file of listFile(PodKind, { place, complain, path: `${folder}/pods.json` }, pods))
    yield file
  for (const { metadata, spec = {} } of pods) {
    for (const { name: container } of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
      const pod = { namespace, name: metadata.name ?? '', container }
      try {
        const log = await client.logs(pod, { signal })
        yield { path: `${folder}/${pod.name}/${container}/${container}.log`, content: masked(log) }
      } catch (error) {
        signal.throwIfAborted()
        complain(`the log of ${pod.name}/${container}`, error)
      }
    }
  }
}

async function* listFile<T extends KubeObject>(
  type: ResourceType<T>,
  { place, complain, path }: { place: Place; complain: Complain; path: string },
  found: T[] = [],
): AsyncGenerator<BundleFile> {
  const { client, namespace, signal } = place
  try {
    for await (const object of client.resource(type, namespace).list({ signal })) found.push(object)
  } catch (error) {
    signal.throwIfAborted()
    // A kind that the cluster does not know: other versions of Velero have others.
    if (!isNotFound(error)) complain(type.plural, error)
    return
  }
  if (found.length === 0) return
  const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`
  const list = { apiVersion, kind: `${type.kind}List`, items: found.map(withoutSecrets) }
  yield { path, content: [`${JSON.stringify(list, null, 4)}\n`] }
}

/** Line by line, so that no secret is cut in two. */
export async function* masked(content: AsyncIterable<string | Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of content) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    // Only what is new is searched: a line may be as long as a log.
    const [first = '', ...more] = text.split('\n')
    rest += first
    for (const next of more) {
      yield `${textWithoutSecrets(rest)}\n`
      rest = next
    }
  }
  rest += decoder.decode()
  if (rest !== '') yield textWithoutSecrets(rest)
}
