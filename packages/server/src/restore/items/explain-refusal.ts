import { KubeError } from '@lateen/kube'
import { messageOf } from '../../item/item-error.ts'

/** Why the API server did not take an object, in its own words, and what can be done. */
export interface Refusal {
  said: string
  hint: string
}

/** What the refused request was about. */
export interface RefusedObject {
  apiVersion: string
  kind: string
}

interface Rule {
  matches: RegExp
  hint: string
}

const rules: readonly Rule[] = [
  {
    matches: /attempting to grant RBAC permissions not currently held/,
    hint: 'nobody may grant more than he has: allow the server "bind" and "escalate" on "roles" and "clusterroles" (lateen install --rights …,restore-roles)',
  },
  {
    matches: /admission webhook "[^"]*" denied the request/,
    hint: 'an admission webhook of this cluster refuses the object: change it with a resource modifier, or change the rules of the webhook',
  },
  {
    matches: /failed calling webhook/,
    hint: 'an admission webhook of this cluster does not answer: start what serves it, or delete its webhook configuration, and restore again',
  },
  {
    matches: /exceeded quota/,
    hint: 'enlarge or remove the ResourceQuota of the namespace and restore again',
  },
  {
    matches: /violates PodSecurity/,
    hint: 'the pod security level of the namespace forbids the pod: change the label pod-security.kubernetes.io/enforce of the namespace',
  },
  {
    matches: /field is immutable|may not (be changed|change)|updates to .* are forbidden/i,
    hint: 'the object exists and this field of it cannot be changed: delete it, or restore with lateen.dev/existing-resource-policy: recreate',
  },
  {
    matches: /because it is being terminated/,
    hint: 'the namespace is being deleted: restore again when it is gone',
  },
  {
    matches: /provided port is already allocated/,
    hint: 'another service has this node port: restore without --preserve-nodeports, or delete the other service',
  },
  {
    matches: /provided IP is already allocated/,
    hint: 'another service has this cluster IP: delete it, or change the object with a resource modifier',
  },
]

/** Reads an error that a write ended with. */
export function explainRefusal(error: unknown, object: RefusedObject): Refusal {
  const said = wordsOf(error)
  if (!(error instanceof KubeError)) return { said, hint: '' }
  const rule = rules.find(({ matches }) => matches.test(said))
  if (rule !== undefined) return { said, hint: rule.hint }
  if (isUnknownType(error)) {
    return {
      said: `the cluster does not serve ${object.kind} in ${object.apiVersion}`,
      hint: 'this version of the API was removed, or its definition is not installed: install it, restore from a backup with all versions (EnableAPIGroupVersions), or convert the object with a resource modifier',
    }
  }
  return { said, hint: error.hint ?? '' }
}

/** Whether it is the type that the server does not have, not the object or its namespace. */
export function isUnknownType(error: KubeError): boolean {
  return error.status === 404 && (error.details?.kind ?? '') === ''
}

/** What the server said, without what the client puts before it. */
function wordsOf(error: unknown): string {
  const text = messageOf(error)
  if (!(error instanceof KubeError) || error.status === undefined) return text
  const [, words] = /^cannot .*? at https?:\/\/\S+?: (.*)$/s.exec(text) ?? []
  return words ?? text
}
