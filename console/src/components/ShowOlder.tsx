import { Button } from '../ui/Button.tsx'

type Props = { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => Promise<unknown> }

/** Loads the next page of a list. */
export function ShowOlder({ hasNextPage, isFetchingNextPage, fetchNextPage }: Props) {
  if (!hasNextPage) return null
  return (
    <div className="mt-3 text-center">
      <Button isPending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        Show older
      </Button>
    </div>
  )
}
