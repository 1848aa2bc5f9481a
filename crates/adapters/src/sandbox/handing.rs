//! Listeners of a program's own network, handed to flow: the first stage opens them in there, and sends their descriptors over a Unix socket beside the
//! scratch folder. So flow takes the connections of the program itself, and nothing of flow runs beside it.

use std::fs::{self, File};
use std::io::{Error, IoSlice, IoSliceMut, Result};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Most listeners that are handed over.
pub(super) const MOST_HANDED: usize = 32;
/// How long the message may take that was begun.
const PATIENCE: Duration = Duration::from_secs(5);
const NAME: &str = "hosts";

/// The place of the socket in a folder, however long its path is: a socket's own is bounded.
fn place(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd()))
}

/// Waits in this folder, on the side of flow.
pub(super) fn waiting(folder: &Path) -> Result<UnixListener> {
    let listener = UnixListener::bind(place(&File::open(folder)?))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Opens listeners at these addresses and hands them over, on the side of the first stage. The first of them must open; others are left out where they
/// cannot, such as one below port 1024.
///
/// # Errors
/// Fails if flow does not take them.
pub(super) fn hand_over(folder: &Path, addresses: &[SocketAddr]) -> Result<()> {
    let (first, others) = addresses.split_first().ok_or_else(|| Error::other("no address is given"))?;
    let mut listeners = vec![TcpListener::bind(first)?];
    listeners.extend(others.iter().take(MOST_HANDED - 1).filter_map(|address| TcpListener::bind(address).ok()));
    let stream = UnixStream::connect(place(&File::open(folder)?))?;
    // The program must not find it.
    fs::remove_file(folder.join(NAME))?;
    let descriptors: Vec<BorrowedFd> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_HANDED))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(&stream, &[IoSlice::new(&[0])], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Takes what the first stage hands over.
pub(super) fn taken(stream: &UnixStream) -> Result<Vec<TcpListener>> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_HANDED))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(stream, &mut [IoSliceMut::new(&mut [0])], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let rights = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors.collect::<Vec<OwnedFd>>()),
        _ => None,
    });
    let listeners: Vec<TcpListener> = rights.flatten().map(TcpListener::from).collect();
    listeners.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
    Ok(listeners)
}
