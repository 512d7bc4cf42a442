import type { KubeObject } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { ObjectClient } from './object-client.ts'

/** By which of three ways objects are chosen. */
export interface Selection {
  readonly args: readonly string[]
  readonly flags: { readonly all: boolean; readonly selector?: string | undefined }
}

/** Throws a CliError in Velero's words unless exactly one way is used. */
export function requireOneWay({ args, flags }: Selection, one: string): void {
  const ways = [args.length > 0, flags.all, flags.selector !== undefined]
  if (ways.filter(Boolean).length === 1) return
  throw new CliError(
    'USAGE',
    `you must specify exactly one of: specific ${one} name(s), the --all flag, or the --selector flag`,
  )
}

/** What becomes of objects that were named and cannot be had. */
export interface SelectOptions<T> {
  /** Gets the errors. */
  readonly failures: unknown[]
  /** Throws for one that was named and will not do. */
  readonly check?: (object: T) => void
}

/** The chosen objects that exist. Those that were named and do not, or will not do, are added to the failures. */
export async function selectObjects<T extends KubeObject>(
  objects: ObjectClient<T>,
  { args, flags }: Selection,
  { failures, check }: SelectOptions<T>,
): Promise<T[]> {
  if (args.length === 0) return objects.list(flags.selector)
  const found: T[] = []
  for (const name of new Set(args)) {
    try {
      const object = await objects.get(name)
      check?.(object)
      found.push(object)
    } catch (error) {
      failures.push(error)
    }
  }
  return found
}
