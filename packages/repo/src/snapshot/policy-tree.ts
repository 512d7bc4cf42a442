import type { Manifest, ManifestMetadata, ManifestStore } from '../manifest/manifest-store.ts'
import { mergePolicies } from './merge-policies.ts'
import { defaultPolicy, type Policy, parsePolicy, policyLabels, policyTargets } from './policy.ts'
import type { SourceInfo } from './source.ts'

/** The policies of a folder and of those below it. */
export interface PolicyTree {
  /** What applies here. */
  readonly effective: Policy
  /** Set where a policy is attached to this very folder. */
  readonly defined?: Policy
  readonly children: ReadonlyMap<string, PolicyTree>
}

/** Options of `loadPolicyTree`. */
export interface LoadPolicyOptions {
  /** Takes the place of the policy stored for the source itself. */
  override?: Policy
  signal?: AbortSignal | undefined
}

/** A tree in which one policy applies everywhere; the defaults when none is given. */
export function policyTree(policy: Policy = defaultPolicy()): PolicyTree {
  return { effective: policy, defined: policy, children: new Map() }
}

/**
 * The tree of a source from what is attached to paths relative to it: `.` is the source itself, `./a/b` a folder.
 * A policy below the source is not merged with those above it: what it does not set has its default.
 */
export function buildPolicyTree(
  defined: ReadonlyMap<string, Policy>,
  inherited = defaultPolicy(),
  at = '.',
): PolicyTree {
  const own = defined.get(at)
  const effective = own ?? inherited
  const names = new Set<string>()
  for (const path of defined.keys()) {
    if (path.startsWith(`${at}/`)) names.add(path.slice(at.length + 1).split('/', 1)[0] ?? '')
  }
  const children = new Map<string, PolicyTree>()
  for (const name of names) children.set(name, buildPolicyTree(defined, effective, `${at}/${name}`))
  return own ? { effective, defined: own, children } : { effective, children }
}

/** The tree of a child. */
export function childPolicies(tree: PolicyTree, name: string): PolicyTree {
  const child = tree.children.get(name)
  if (child) return child
  return tree.defined || tree.children.size > 0 ? { effective: tree.effective, children: noChildren } : tree
}

/** The effective policy of a source: what is stored for it, its parents, user, host and all, over the defaults. */
export async function loadEffectivePolicy(
  manifests: ManifestStore,
  source: SourceInfo,
  options: LoadPolicyOptions = {},
): Promise<Policy> {
  const policies: Policy[] = options.override ? [options.override] : []
  for (const target of policyTargets(source).slice(policies.length)) {
    const found = await manifests.find(policyLabels(target), options.signal)
    for (const metadata of found) policies.push(await loadPolicy(manifests, metadata, options.signal))
  }
  return mergePolicies(policies)
}

/** The policies of a source and of the folders below it, as stored. */
export async function loadPolicyTree(
  manifests: ManifestStore,
  source: SourceInfo,
  options: LoadPolicyOptions = {},
): Promise<PolicyTree> {
  const defined = new Map([['.', await loadEffectivePolicy(manifests, source, options)]])
  const labels = { type: 'policy', policyType: 'path', username: source.userName, hostname: source.host }
  const parent = source.path.replace(/[/\\]$/, '')
  for (const metadata of await manifests.find(labels, options.signal)) {
    const path = labelOf(metadata, 'path')
    if (!path.startsWith(`${parent}/`)) continue
    const relative = path.slice(parent.length + 1)
    if (relative !== '') defined.set(`./${relative}`, await loadPolicy(manifests, metadata, options.signal))
  }
  return buildPolicyTree(defined)
}

function labelOf(metadata: ManifestMetadata, name: string): string {
  return Object.hasOwn(metadata.labels, name) ? (metadata.labels[name] ?? '') : ''
}

const noChildren: ReadonlyMap<string, PolicyTree> = new Map()

async function loadPolicy(
  manifests: ManifestStore,
  metadata: ManifestMetadata,
  signal: AbortSignal | undefined,
): Promise<Policy> {
  const manifest: Manifest = await manifests.get(metadata.id, signal)
  return parsePolicy(manifest.payload)
}
