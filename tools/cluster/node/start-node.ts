import type { ClusterPlan } from '../cluster-layout.ts'
import type { Component } from '../component.ts'

export async function startNode(
  _plan: ClusterPlan,
  _owner: { start: (component: Component) => void; components: ReadonlyMap<string, Component> },
): Promise<void> {
  throw new Error('not yet')
}
