import type { Dispatcher } from 'undici'
import type { Fence } from '../fence.ts'

/**
 * A dispatcher that asks the fence about each change when its connection is ready for it, right before its first byte: after
 * waiting for a connection, and once for each repetition. A change that may not be sent fails with `FencedError`.
 */
export function fencedDispatcher(dispatcher: Dispatcher, fence: Fence): Dispatcher {
  return dispatcher.compose(dispatch => (options, handler) => {
    if (!isChange(options)) return dispatch(options, handler)
    return dispatch(
      options,
      fencedHandler(handler, () => fence.check(`${options.method} ${options.path}`)),
    )
  })
}

/** A connection that is upgraded runs a command in a pod, or reaches into it. */
function isChange({ method, upgrade }: Dispatcher.DispatchOptions): boolean {
  return (method !== 'GET' && method !== 'HEAD') || Boolean(upgrade)
}

function fencedHandler(handler: Dispatcher.DispatchHandler, check: () => void): Dispatcher.DispatchHandler {
  return {
    onRequestStart(...args) {
      check()
      handler.onRequestStart?.(...args)
    },
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart: (...args) => handler.onResponseStart?.(...args),
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError: (...args) => handler.onResponseError?.(...args),
  }
}
