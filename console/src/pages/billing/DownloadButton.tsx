import type { ReactNode } from 'react'
import { useDownload } from '../../components/use-download.ts'
import { Button } from '../../ui/Button.tsx'

type Props = {
  /** Requests the file. */
  request: () => Promise<Response>
  fileName: string
  icon?: ReactNode
  size?: 28 | 32
  /** Accessible name, if the visible text is ambiguous. */
  label?: string
  children: ReactNode
}

/** A button that requests a file and saves it as a download. */
export function DownloadButton({ request, fileName, icon, size = 32, label, children }: Props) {
  const { isPending, download } = useDownload(request, fileName)
  return (
    <Button size={size} icon={icon} isPending={isPending} aria-label={label} onClick={download}>
      {children}
    </Button>
  )
}
