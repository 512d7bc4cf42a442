import { builtInKind, type KubeObject, type ResourceType } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { InstallPorts } from './install-ports.ts'
import { installedKind } from './installed-kinds.ts'
import { DefinitionKind } from './stored-definition.ts'

interface AccessReview extends KubeObject {
  spec: { resourceAttributes: Record<string, string> }
  status?: { allowed?: boolean }
}

const AccessReviewKind = builtInKind<AccessReview>('SelfSubjectAccessReview')

/** Something that must be allowed. */
export interface NeededRight {
  readonly verb: string
  readonly kind: ResourceType<KubeObject>
  readonly namespace?: string | undefined
  /** Of the one object that is meant; absent for all of the kind. */
  readonly name?: string
}

/** What applying these objects takes. */
export function rightsToApply(objects: readonly KubeObject[]): NeededRight[] {
  const needed = new Map<string, NeededRight>()
  for (const object of objects) {
    const kind =
      object.kind === DefinitionKind.kind
        ? (DefinitionKind as ResourceType<KubeObject>)
        : installedKind(object)
    for (const verb of ['get', 'create', 'patch']) {
      const { namespace } = object.metadata
      needed.set(`${verb} ${kind.group}/${kind.plural} ${namespace}`, { verb, kind, namespace })
    }
  }
  return [...needed.values()]
}

/**
 * Asks the API server for each right, before anything is changed. Throws a CliError (`REFUSED`) that names all that are
 * missing.
 */
export async function checkRights(
  needed: readonly NeededRight[],
  { client, signal }: InstallPorts,
  remedy: string,
): Promise<void> {
  const reviews = client.resource(AccessReviewKind)
  const refused = await Promise.all(
    needed.map(async right => {
      const { status } = await reviews.create(reviewOf(right), { signal })
      return status?.allowed === true ? [] : [right]
    }),
  )
  const missing = refused.flat().map(({ verb, kind: { group, plural }, name }) => {
    return `${verb} ${group === '' ? plural : `${plural}.${group}`}${name === undefined ? '' : `/${name}`}`
  })
  if (missing.length === 0) return
  throw new CliError('REFUSED', `nothing was changed, because rights are missing: ${missing.join(', ')}`, {
    hint: remedy,
  })
}

function reviewOf({ verb, kind, namespace, name }: NeededRight): AccessReview {
  const { group, version, plural } = kind
  const place = {
    ...(kind.namespaced && namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
  }
  return {
    apiVersion: 'authorization.k8s.io/v1',
    kind: AccessReviewKind.kind,
    metadata: {},
    spec: { resourceAttributes: { verb, group, version, resource: plural, ...place } },
  }
}
