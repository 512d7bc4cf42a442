import type { ActionItem } from '@lateen/plugin'

interface NamedReference {
  name?: string
}

interface ServiceAccount extends ActionItem {
  secrets?: readonly NamedReference[] | null
  imagePullSecrets?: readonly NamedReference[] | null
}

/**
 * A service account of the cluster with what only the one of the backup has: secrets, pull secrets, labels, annotations. The
 * cluster makes some by itself, so existing ones are added to under every policy.
 */
export function mergeServiceAccount(live: ActionItem, wanted: ActionItem): ActionItem {
  const here = live as ServiceAccount
  const there = wanted as ServiceAccount
  const secrets = unite(here.secrets, there.secrets)
  const imagePullSecrets = unite(here.imagePullSecrets, there.imagePullSecrets)
  const labels = { ...there.metadata.labels, ...here.metadata.labels }
  const annotations = { ...there.metadata.annotations, ...here.metadata.annotations }
  return {
    ...here,
    metadata: {
      ...here.metadata,
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    ...(secrets.length > 0 && { secrets }),
    ...(imagePullSecrets.length > 0 && { imagePullSecrets }),
  }
}

function unite(
  here: readonly NamedReference[] | null | undefined,
  there: readonly NamedReference[] | null | undefined,
): NamedReference[] {
  const known = new Set(here?.map(({ name }) => name))
  return [...(here ?? []), ...(there ?? []).filter(({ name }) => !known.has(name))]
}
