import {
  type CallOptions,
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  KubeError,
  type KubeObject,
  type Patch,
  type ResourceClient,
  type ResourceType,
} from '@lateen/kube'
import { CliError } from '../cli-error.ts'

/** How objects of a kind are called, and what helps when one is missing or in the way. */
export interface KindWords {
  readonly one: string
  readonly many: string
  /** What to do when there is no such object. */
  readonly missingHint: string
  /** What to do when the name is taken. */
  readonly takenHint: (name: string) => string
}

/** Objects of one kind in one namespace, with failures put into words. */
export interface ObjectClient<T extends KubeObject> {
  get(name: string): Promise<T>
  list(labelSelector?: string): Promise<T[]>
  create(object: T): Promise<T>
  patch(name: string, patch: Patch): Promise<void>
  delete(name: string): Promise<void>
  /** The verbs without words, for what these do not offer. */
  readonly resource: ResourceClient<T>
}

/** Where a command works. */
export interface Place {
  readonly client: KubeClient
  readonly namespace: string
  readonly signal: AbortSignal
}

/** Opens the objects of a kind. All verbs throw CliErrors for what is missing or in the way. */
export function objectClient<T extends KubeObject>(
  type: ResourceType<T>,
  { client, namespace, signal }: Place,
  words: KindWords,
): ObjectClient<T> {
  const resource = client.resource(type, namespace)
  const call: CallOptions = { signal }
  const explained = (name?: string) => async (error: unknown) => {
    const explanation = explainObjectError(error, words, { namespace, name })
    const isUnknownKind = explanation instanceof CliError && explanation.code === 'NO_KIND'
    throw (isUnknownKind && (await otherVersion(type, client, signal))) || explanation
  }
  return {
    resource,
    get: name => resource.get(name, call).catch(explained(name)),
    list: labelSelector =>
      resource
        .list({ ...call, labelSelector })
        .toArray()
        .catch(explained()),
    create: object => resource.create(object, call).catch(explained(object.metadata.name)),
    patch: async (name, patch) => {
      await resource.patch(name, patch, call).catch(explained(name))
    },
    delete: name => resource.delete(name, call).catch(explained(name)),
  }
}

/** The named objects, or all that match the selector. Throws a CliError for a name that does not exist. */
export async function findObjects<T extends KubeObject>(
  objects: ObjectClient<T>,
  names: readonly string[],
  selector: string | undefined,
): Promise<T[]> {
  if (names.length === 0) return objects.list(selector)
  const found: T[] = []
  for (const name of names) found.push(await objects.get(name))
  return found
}

/** Turns the API server's answers about objects into what a person can act on; other errors come back as they are. */
export function explainObjectError(
  error: unknown,
  words: KindWords,
  { namespace, name }: { readonly namespace: string; readonly name?: string | undefined },
): unknown {
  if (isAlreadyExists(error)) {
    return new CliError('EXISTS', `${words.one} "${name}" already exists in namespace ${namespace}`, {
      hint: words.takenHint(name ?? ''),
      cause: error,
    })
  }
  if (!(error instanceof KubeError) || !isNotFound(error)) return error
  if (error.details?.kind === 'namespaces') {
    return new CliError('NOT_FOUND', `namespace ${namespace} does not exist`, {
      hint: `create it with 'kubectl create namespace ${namespace}', or name another with --namespace`,
      cause: error,
    })
  }
  if (name === undefined || error.details?.name !== name) {
    return new CliError('NO_KIND', `this cluster does not know ${words.many}`, {
      hint: "install the CustomResourceDefinitions with 'lateen install --crds-only'",
      cause: error,
    })
  }
  return new CliError('NOT_FOUND', `${words.one} "${name}" does not exist in namespace ${namespace}`, {
    hint: words.missingHint,
    cause: error,
  })
}

/** Where the cluster knows the kind's group in other versions only, an error that says so. */
async function otherVersion(
  { group, version }: Pick<ResourceType<KubeObject>, 'group' | 'version'>,
  client: KubeClient,
  signal: AbortSignal,
): Promise<CliError | undefined> {
  try {
    const { versions } = JSON.parse(await client.getRaw(`/apis/${group}`, { signal })) as {
      versions: { version: string }[]
    }
    const known = versions.map(served => served.version)
    if (known.includes(version)) return undefined
    const message = `this cluster serves ${group} in version ${known.join(', ')}, and this program speaks ${version}`
    return new CliError('NO_KIND', message, {
      hint: "use a program of that version, or bring the CustomResourceDefinitions up to date with 'lateen install --crds-only'",
    })
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}
