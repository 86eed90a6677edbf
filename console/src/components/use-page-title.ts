import { useEffect } from 'react'

/** Sets the title of the browser tab. React's <title> would leave the tab without a title while the next page loads. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Shoal`
  }, [title])
}
