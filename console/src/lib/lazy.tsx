import { Component, createElement, lazy, Suspense, type ComponentType, type ReactNode } from 'react'
import { toast } from './toasts.ts'

/** Whether the browser could not load code: the server does not respond, has a newer build, or a blocker removed the file. */
export const isMissingCode = (error: unknown): boolean =>
  error instanceof Error &&
  /dynamically imported module|Importing a module script failed|Unable to preload CSS/.test(error.message)

/** A part that could not be loaded stays failed for this time: React first renders the error, and would otherwise load again immediately. */
const failedMs = 1000

/** Like `lazy` of React, but loads the code again when the part is rendered after a failure. React's `lazy` never does. */
// oxlint-disable-next-line typescript/no-explicit-any -- the constraint of React's own `lazy`
export function lazyPart<C extends ComponentType<any>>(load: () => Promise<{ default: C }>): C {
  const makePart = () =>
    lazy(() =>
      load().catch((error: unknown) => {
        setTimeout(() => (Part = makePart()), failedMs)
        throw error
      }),
    )
  let Part = makePart()
  return ((props: object) => createElement(Part as unknown as ComponentType<object>, props)) as unknown as C
}

const retryMs = 10_000

type Props = {
  /** What the user opened, `The command palette`. Without it, a failure is not reported. */
  what?: string
  /** Closes the part, so that opening it loads its code again. Without it, the part is rendered again after ten seconds. */
  onFailed?: () => void
  children: ReactNode
}

/** A lazily loaded part above the page, such as a dialog: if its code cannot be loaded or throws, the page stays. */
export class Optional extends Component<Props, { hasFailed: boolean }> {
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

export const toastMissing = (what: string): void =>
  toast({
    tone: 'bad',
    title: `${what} could not be opened`,
    message: 'Try again, or reload the page.',
  })
