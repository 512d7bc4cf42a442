import { KubeError } from '@lateen/kube'
import type { PlannedObjects } from './planned-objects.ts'

interface Rule {
  matches: RegExp
  resource: string
  namespaced: boolean
  what: string
}

/** What the API server says when an object refers to another one that is not there. */
const rules: readonly Rule[] = [
  {
    matches: /error looking up service account [^/\s]+\/(\S+): serviceaccount .* not found/,
    resource: 'serviceaccounts',
    namespaced: true,
    what: 'service account',
  },
  {
    matches: /no PriorityClass with name (\S+) was found/,
    resource: 'priorityclasses.scheduling.k8s.io',
    namespaced: false,
    what: 'priority class',
  },
  {
    matches: /RuntimeClass "([^"]+)" not found/,
    resource: 'runtimeclasses.node.k8s.io',
    namespaced: false,
    what: 'runtime class',
  },
]

/** What the API server says to somebody who has no right; what it does for a dry run is the same as for the real thing. */
const noRight = /is forbidden: User .* cannot (\w+) resource /

/** Whether it is only the one who asks that may not do this. The server that restores may. */
export function lacksRight(error: unknown): boolean {
  return error instanceof KubeError && error.status === 403 && noRight.test(error.message)
}

/**
 * Why a dry run was refused although the restore would not be: what the object refers to is planned, a webhook takes no dry runs, or the
 * one who asks has no right to. Undefined when it would be, too.
 */
export function excuseRefusal(
  error: unknown,
  namespace: string,
  planned: Pick<PlannedObjects, 'has'>,
): string | undefined {
  if (!(error instanceof KubeError)) return undefined
  const [, webhook] = /admission webhook "([^"]*)" does not support dry run/.exec(error.message) ?? []
  if (webhook !== undefined) return `the admission webhook ${webhook} does not support it`
  if (lacksRight(error)) return `no right to ${noRight.exec(error.message)?.[1]}`
  for (const { matches, resource, namespaced, what } of rules) {
    const [, name] = matches.exec(error.message) ?? []
    if (name !== undefined && planned.has(resource, { namespace: namespaced ? namespace : '', name })) {
      return `${what} ${name} absent`
    }
  }
  return undefined
}
