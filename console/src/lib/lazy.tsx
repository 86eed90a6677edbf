import { Component, createElement, lazy, Suspense, useState, type ComponentType, type ReactNode } from 'react'
import { toast } from './toasts.ts'

/** Whether the browser could not load code: the server does not respond, has a newer build, or a blocker removed the file. */
export const isMissingCode = (error: unknown): boolean =>
  error instanceof Error &&
  /dynamically imported module|Importing a module script failed|Unable to preload CSS/.test(error.message)

/**
 * After a failure, the code of a part is not loaded again for this long: React renders the part again before it shows the error, and
 * would load the code again immediately.
 */
const failedMs = 1000

/**
 * Like `lazy` of React, but loads the code again when the part is rendered after a failure, which `lazy` never does. `preload` loads the
 * code before the part is rendered; `load` does the same, and fails if the code cannot be loaded. A part whose code has loaded renders
 * without a placeholder, which React would show for at least 300 ms.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- the constraint of React's own `lazy`
export function lazyPart<C extends ComponentType<any>>(
  load: () => Promise<{ default: C }>,
): C & { preload: () => Promise<void>; load: () => Promise<void> } {
  const loadPart = async () => {
    const module = await load()
    loaded = module.default
    return module
  }
  const makePart = () =>
    lazy(() =>
      loadPart().catch((error: unknown) => {
        setTimeout(() => (Part = makePart()), failedMs)
        throw error
      }),
    )
  let loaded: C | null = null
  let Part = makePart()
  function LazyPart(props: object) {
    // A mounted part keeps its component, and with it its state.
    const [Shown] = useState(() => (loaded ?? Part) as unknown as ComponentType<object>)
    return createElement(Shown, props)
  }
  // If the code cannot be loaded, rendering the part loads it again.
  const preload = () => loadPart().then(noop, noop)
  return Object.assign(LazyPart as unknown as C, { preload, load: () => loadPart().then(noop) })
}

const noop = () => {}

/** The time after which a part that failed is rendered again. */
const retryMs = 10_000

type Props = {
  /** The part that the user opened, such as `The command palette`, for the toast about a failure. Without it, no toast is shown. */
  what?: string
  /** Closes the part, so that opening it loads its code again. Without it, the part is rendered again after ten seconds. */
  onFailed?: () => void
  children: ReactNode
}

/** Contains a lazily loaded part of the screen, such as a dialog. If the code of the part cannot be loaded, or throws, the page stays. */
export class LazyBoundary extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError() {
    return { hasFailed: true }
  }

  override componentDidCatch() {
    const { what, onFailed } = this.props
    if (what !== undefined) toastMissing(what)
    onFailed?.()
    // React ignores the change if the part is no longer rendered.
    setTimeout(() => this.setState({ hasFailed: false }), onFailed ? 0 : retryMs)
  }

  override render() {
    return this.state.hasFailed ? null : <Suspense>{this.props.children}</Suspense>
  }
}

/** Shows a toast about a part whose code could not be loaded. */
export const toastMissing = (what: string): void =>
  toast({
    tone: 'bad',
    title: `${what} could not be opened`,
    message: 'Try again, or reload the page.',
  })
