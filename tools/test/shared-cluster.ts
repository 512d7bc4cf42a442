/** The cluster that all test files of one run share, as environment variables for their processes. */
export interface SharedCluster extends AsyncDisposable {
  env: Record<string, string>
}

/** What `tools/cluster/shared.ts` promises. */
interface ClusterModule {
  startSharedCluster(): Promise<{ env: Record<string, string>; stop(): Promise<void> } | { skip: string }>
}

/** The variable through which test files learn why there is no cluster, and skip with that reason. */
export const skipVariable = 'LATEEN_TEST_CLUSTER_SKIP'

/**
 * Starts the shared cluster, or hands out an empty environment when no test file needs one. A machine that cannot run a
 * cluster gives an environment with the reason instead. Throws when the cluster should start and does not.
 */
export async function startIfNeeded(needed: boolean, signal: AbortSignal): Promise<SharedCluster> {
  if (!needed) return { env: {}, [Symbol.asyncDispose]: async () => undefined }
  const module: ClusterModule = await import('../cluster/shared.ts')
  // What has been started so far ends with this process.
  const leave = () => process.exit(130)
  signal.addEventListener('abort', leave)
  const started = await module.startSharedCluster()
  signal.removeEventListener('abort', leave)
  if ('skip' in started) {
    return { env: { [skipVariable]: started.skip }, [Symbol.asyncDispose]: async () => undefined }
  }
  return { env: started.env, [Symbol.asyncDispose]: () => started.stop() }
}
