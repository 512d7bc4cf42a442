import type { RestoreEnd, ResultLists } from './restore-twins.ts'

/**
 * How two restores tell differently of the same, where there is no reason for it. The reasons:
 *
 * - What the cluster itself makes in every namespace is there a moment before or after a restore comes to it; slices of endpoints
 *   go again as soon as their controller sees them, and so do pods that are one too many for their ReplicaSet.
 * - For Velero an object differs when only the owners of its fields do, or when its own actions have added an empty
 *   `creationTimestamp`: it warns or patches. To us it is the same.
 * - We warn of volumes that come back empty.
 * - A volume or claim that is in use stays bound with us.
 * - We add to what the API server says what the object was, and a hint.
 */
export function unexplainedEnds(ours: RestoreEnd, theirs: RestoreEnd): string[] {
  const [our, their] = [ours.restore.status, theirs.restore.status]
  if (our?.phase !== their?.phase) {
    return [`phase ${our?.phase} here, ${their?.phase} there: ${JSON.stringify([our, their])}`]
  }
  const same = new Set(
    [...actionsOf(ours)].filter(([, action]) => action === 'skipped').map(([item]) => item),
  )
  return [
    ...differentActions(ours, theirs),
    ...differentMessages('error', messagesOf(ours.results.errors), messagesOf(theirs.results.errors)),
    ...differentMessages(
      'warning',
      messagesOf(ours.results.warnings).filter(text => !/are in no snapshot of the backup/.test(text)),
      messagesOf(theirs.results.warnings).filter(text => !same.has(existing(text))),
    ),
    ...countedWrongly(ours),
  ]
}

/** Made by the cluster in each namespace, or by a controller for what is in it; in lists, and in messages. */
const madeByCluster = new RegExp(
  [
    /\bconfigmaps?\b.*kube-root-ca\.crt/,
    /\bserviceaccounts?\b.*\bdefault\b/,
    /\bendpointslices?\b/,
    /\bendpoints\b.*\bweb\b/,
    /pods "rig-1" not found/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
)

/** What a restore did, by `Kind namespace/name`. */
function actionsOf({ resourceList }: RestoreEnd): Map<string, string> {
  const entries = Object.entries(resourceList).flatMap(([apiKind, items]) =>
    items.map(item => {
      const [, name = '', action = ''] = /^(.*)\((\w+)\)$/.exec(item) ?? []
      return [`${apiKind.split('/').at(-1)} ${name}`, action] as const
    }),
  )
  return new Map(entries.filter(([item]) => !madeByCluster.test(item)))
}

function differentActions(ours: RestoreEnd, theirs: RestoreEnd): string[] {
  const [our, their] = [actionsOf(ours), actionsOf(theirs)]
  const items = [...new Set([...our.keys(), ...their.keys()])].toSorted()
  return items.flatMap(item => {
    const [here, there] = [our.get(item), their.get(item)]
    const isSame = here === there || (here === 'skipped' && (there === 'failed' || there === 'updated'))
    return isSame ? [] : [`${item} was ${here} here, ${there} there`]
  })
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** A resource modifier that fails each explains in its own words, and uids are those of the cluster. */
function inOtherWords(text: string): string {
  const isModifier = /^error in applying patch|the resource modifier in line \d+ could not be applied/.test(
    text,
  )
  return isModifier ? 'a resource modifier failed' : text.replace(uuid, '<uid>')
}

/** `place: message`, where the place is that of the results file. */
function messagesOf({ velero = [], cluster = [], namespaces = {} }: ResultLists): string[] {
  const placed = Object.entries({ '(velero)': velero, '(cluster)': cluster, ...namespaces })
  const all = placed.flatMap(([place, texts]) => texts.map(text => `${place}: ${inOtherWords(text)}`))
  return all.filter(text => !madeByCluster.test(text))
}

const alreadyExists = /^([^ ]+): could not restore, ([A-Za-z]+)(?::| ")(.*?)"? already exists\. Warning/

/** The item that a warning says is there already, as `actionsOf` has it. */
function existing(text: string): string {
  const [, place = '', kind, name] = alreadyExists.exec(text) ?? []
  return place === '(cluster)' ? `${kind} ${name}` : `${kind} ${place}/${name}`
}

function differentMessages(what: string, ours: readonly string[], theirs: readonly string[]): string[] {
  const left = [...ours]
  const only = theirs.filter(their => {
    const place = their.slice(0, their.indexOf(': '))
    const text = their.slice(place.length + 2)
    const at = left.findIndex(our => our.startsWith(`${place}: `) && our.includes(text))
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
  return [
    ...left.map(text => `${what} only here: ${text}`),
    ...only.map(text => `${what} only there: ${text}`),
  ]
}

/** The numbers in the status are those of the results. */
function countedWrongly({ restore, results }: RestoreEnd): string[] {
  const { warnings = 0, errors = 0 } = restore.status ?? {}
  const count = ({ velero = [], cluster = [], namespaces = {} }: ResultLists) =>
    [velero, cluster, ...Object.values(namespaces)].reduce((sum, list) => sum + list.length, 0)
  const counted = [count(results.warnings), count(results.errors)]
  return counted[0] === warnings && counted[1] === errors
    ? []
    : [`${warnings} warnings and ${errors} errors in the status, ${counted} in the results`]
}
