import { EmptyState } from '../components/EmptyState.tsx'
import { PageHeader } from '../components/PageHeader.tsx'

/** A page whose part of the product is not there yet: says what it will be, and nothing else. */
export function unbuilt(title: string, purpose: string) {
  return function UnbuiltPage() {
    return (
      <>
        <PageHeader title={title} />
        <EmptyState title="Not here yet" text={purpose} />
      </>
    )
  }
}
