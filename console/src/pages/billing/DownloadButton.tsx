import { useState, type ReactNode } from 'react'
import { errorText } from '../../api/error-text.ts'
import { saveFile } from '../../lib/save-file.ts'
import { toast, unexpectedErrorTitle } from '../../lib/toasts.ts'
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
  const [isPending, setIsPending] = useState(false)
  const download = async () => {
    setIsPending(true)
    try {
      saveFile(await (await request()).blob(), fileName)
    } catch (error) {
      toast({ tone: 'bad', title: unexpectedErrorTitle, message: errorText(error) })
    }
    setIsPending(false)
  }
  return (
    <Button size={size} icon={icon} isPending={isPending} aria-label={label} onClick={() => void download()}>
      {children}
    </Button>
  )
}
