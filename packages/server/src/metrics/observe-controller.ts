import { type Clock, type ControllerOptions, type QueueObserver, TerminalError } from '@lateen/kube'
import type { LateenMetrics } from './lateen-metrics.ts'

/** The same controller, whose queue and reconciles are counted and measured. */
export function observeController(
  controller: ControllerOptions,
  { own, clock }: { own: LateenMetrics; clock: Clock },
): ControllerOptions {
  const labels = { controller: controller.name }
  own.queueDepth.set(labels, 0)
  own.queueRetries.add(labels, 0)
  const observer: QueueObserver = {
    ...controller.observer,
    depth(keys) {
      controller.observer?.depth?.(keys)
      own.queueDepth.set(labels, keys)
    },
    added(key) {
      controller.observer?.added?.(key)
      own.queueAdds.add(labels)
    },
    retried(key, delayMs) {
      controller.observer?.retried?.(key, delayMs)
      own.queueRetries.add(labels)
    },
    began(key, waitedMs) {
      controller.observer?.began?.(key, waitedMs)
      own.queueSeconds.observe(labels, waitedMs / 1_000)
    },
  }
  const reconcile: ControllerOptions['reconcile'] = async (key, context) => {
    const startedAt = clock.now()
    const end = (result: string) => {
      own.reconciles.add({ ...labels, result })
      own.reconcileSeconds.observe(labels, Math.max(0, clock.now() - startedAt) / 1_000)
    }
    try {
      const outcome = await controller.reconcile(key, context)
      end(outcome.type)
      return outcome
    } catch (error) {
      end(context.signal.aborted ? 'aborted' : error instanceof TerminalError ? 'failed for good' : 'failed')
      throw error
    }
  }
  return { ...controller, observer, reconcile }
}
