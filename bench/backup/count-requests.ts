import type { Cluster } from '../../tools/cluster/cluster.ts'

/** Requests that the API server has answered since its start, by verb. */
export type RequestCounts = ReadonlyMap<string, number>

/** Reads what the API server counts. Asking is a request of its own, which shows up in the next answer. */
export async function countRequests(cluster: Cluster): Promise<RequestCounts> {
  const counts = new Map<string, number>()
  for (const line of (await cluster.kubectl(['get', '--raw', '/metrics'])).split('\n')) {
    const [, labels = '', value] = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line) ?? []
    const verb = /verb="([^"]*)"/.exec(labels)?.[1]
    if (verb !== undefined) counts.set(verb, (counts.get(verb) ?? 0) + Number(value))
  }
  return counts
}

/** What was asked between two counts, without watches, which are counted when they end. */
export function requestsBetween(before: RequestCounts, after: RequestCounts): Map<string, number> {
  const differences = [...after].map(([verb, count]) => [verb, count - (before.get(verb) ?? 0)] as const)
  return new Map(differences.filter(([verb, count]) => count > 0 && verb !== 'WATCH' && verb !== 'CONNECT'))
}
