//! Store, queue, backlog and selector against naive models, and client-go's own cases.

mod backlog;
mod backlog_model;
mod delta_fifo;
mod delta_fifo_model;
mod helpers;
mod indexer;
mod indexer_listed;
mod indexer_model;
mod indexer_relist;
mod naive_store;
mod selector;
